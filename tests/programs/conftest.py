"""Real programs run on the unions of the tests of libses."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "libses"))

from union_fixtures import make_union, union

__all__ = ["make_union", "union"]
