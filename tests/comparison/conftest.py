"""Where the tests find the simulations."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
