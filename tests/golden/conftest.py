"""Helpers of these tests stand beside them; see goldenkit.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
