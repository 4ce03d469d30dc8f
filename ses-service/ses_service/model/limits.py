"""The largest values that every part takes: ``libses/include/ses/limits.h`` says why, and a test compares."""

MAX_BOUND = 1e18  # base units
MAX_WEIGHT = 1e6  # weights are above 0
MAX_SIZE = 2.0**63  # bytes of a file
MAX_STRIPE_COUNT = 2000
MAX_REQUIREMENTS = 8  # of a set, and that apply to one file
MAX_APPLICATIONS = 63  # of a user, with requirements of their own
MAX_APPLICATION = 63  # bytes of UTF-8
MAX_JOB = 63  # the same
MAX_ELEMENT = 95  # the same, as SYSTEM/ELEMENT
MAX_NAME = 256  # characters of a user, a VO, a node, a storage system
MAX_ANNOUNCED_FILES = 2000
MAX_ANNOUNCED_USERS = 1000
MAX_ANNOUNCED_DECISIONS = 500
MAX_ANNOUNCED_ELEMENTS = 10
MAX_ANNOUNCED_SAMPLES = 32
MAX_ANNOUNCED_READERS = 500
MAX_ANNOUNCED_EXCLUDED = 320

MAX_PATH = 8192  # characters; the kernel ends a path at 4096 bytes
MAX_KIND = 63  # characters of a kind, and of a profile without its owner
MAX_SET_NAME = 1 + MAX_NAME + 1 + MAX_KIND  # characters: USER, USER:APPLICATION, %VO:PROFILE
