"""What can be asked of a project's backlog: looking, changing, working on it."""
