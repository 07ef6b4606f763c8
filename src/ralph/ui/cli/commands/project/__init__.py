"""Commands about the checks and settings of a project."""
