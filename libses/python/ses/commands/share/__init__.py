"""``ses share``: a file per subject; ``group.py`` has them together."""
