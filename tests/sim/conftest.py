"""Lets the tests of this folder share simworld.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
