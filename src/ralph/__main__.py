"""`python -m ralph`."""

import sys

from ralph.ui.cli.main import main

sys.exit(main())
