"""Files: where each went and why, what was required of it, and what it received."""
