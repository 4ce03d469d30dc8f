"""The largest numbers of a requirement: ``libses/include/ses/limits.h`` says why, and a test compares."""

MAX_BOUND = 1e18  # base units
MAX_WEIGHT = 1e6  # weights are above 0
MAX_BYTES = 2.0**63
MAX_REQUIREMENTS = 32  # of a set
MAX_NAME = 256  # characters of a user, an application, a VO, a subject, a job, a node
