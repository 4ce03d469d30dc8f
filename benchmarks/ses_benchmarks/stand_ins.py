"""The tests' stand-ins and servers: importing this module first makes theirs importable."""

import sys
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path += [str(_TESTS), *(str(_TESTS / part) for part in ("agent", "libses", "lustre", "service"))]
