"""Commands that show a loop and change nothing."""
