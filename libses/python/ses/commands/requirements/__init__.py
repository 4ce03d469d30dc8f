"""``ses requirements``: a file per command; ``group.py`` has them together."""
