"""Commands that start or go on with a loop."""
