"""What the monitor answers."""
