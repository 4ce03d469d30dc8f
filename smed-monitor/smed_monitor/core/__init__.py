"""What the monitor knows and computes: no network, no thread, no file."""
