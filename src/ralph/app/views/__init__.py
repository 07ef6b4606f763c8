"""What can be looked at of a loop besides its report: rows of lists, prompts, differences, log lines."""
