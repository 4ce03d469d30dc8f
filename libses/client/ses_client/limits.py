"""The largest numbers of a requirement: ``libses/include/ses/limits.h`` says why, and a test compares."""

MAX_BOUND = 1e18  # base units
MAX_WEIGHT = 1e6
