import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # where the tests find generated_tables
