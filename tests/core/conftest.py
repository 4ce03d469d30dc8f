"""What the tests of the decision core stand on lies beside them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
