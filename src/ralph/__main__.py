"""`python -m ralph`."""

import sys

from ralph.ui.main import main

sys.exit(main())
