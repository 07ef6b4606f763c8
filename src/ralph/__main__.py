"""`python -m ralph`."""

from ralph.ui.main import main

main()
