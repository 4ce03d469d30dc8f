"""A running service: its parts, how they start and stop, what it logs and counts."""
