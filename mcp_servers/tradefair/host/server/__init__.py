"""The MCP server of one seat: what a client's call becomes, and what it gets back."""
