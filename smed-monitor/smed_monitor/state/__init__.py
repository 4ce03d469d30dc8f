"""What the monitor has: the latest record of every element, and its history."""
