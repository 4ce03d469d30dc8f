"""The benchmarks are programs, not an installed package: their folder is put where they can be imported."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
