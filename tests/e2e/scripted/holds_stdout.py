#!/usr/bin/env python3
"""holds_stdout [MARK]: leaves a child that holds stdout and stderr open, repairs everything, ends well."""

import subprocess
import sys

from _lib import argument, done, fix

mark = argument(1, "holder-mark")
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", mark], start_new_session=True)
fix()
done()
