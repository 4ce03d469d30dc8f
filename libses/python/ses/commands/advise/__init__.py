"""``ses advise``: what a program would get where, and what its last run got."""
