"""``ses run-near`` and ``ses map-near``."""
