"""Ralph runs a coding agent again and again until a task is verified done."""

__version__ = "0.1.0"
