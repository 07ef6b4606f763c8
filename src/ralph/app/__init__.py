"""What a person, a worker, a web page, a hook or an MCP client can ask for. No screen, no click."""
