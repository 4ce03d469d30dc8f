"""Maximum values, the same in every part; reasons: ``libses/include/ses/limits.h``.  A test compares."""

MAX_BOUND = 1e18  # base units
MAX_WEIGHT = 1e6
MAX_APPLICATION = 63  # bytes of UTF-8
MAX_JOB = 63  # the same
MAX_ELEMENT = 95  # the same, as SYSTEM/ELEMENT
MAX_NAME = 256  # characters of a user, a VO
MAX_KIND = 63  # characters of a kind, and of a profile without its owner
