"""How does an MCP client reach Ralph? Tools and resources over stdio; `app.remote` answers them."""
