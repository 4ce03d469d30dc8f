"""``ses experiment``: a file per experiment; ``group.py`` has them together."""
