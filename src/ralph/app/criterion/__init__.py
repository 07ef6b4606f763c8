"""What can be asked about the checks of a project: infer them, write them down, judge with them."""
