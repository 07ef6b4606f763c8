"""Commands for work inside an agent's own session."""
