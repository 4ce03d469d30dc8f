"""``ses kb``: a file per command; ``group.py`` has them together."""
