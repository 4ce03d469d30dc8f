"""Storage: every element as it is now."""
