"""What may a program ask for, such as an MCP client? Never what needs a person's own yes."""
