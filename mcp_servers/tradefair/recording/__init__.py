"""A recorder between any MCP client and any MCP server: it passes bytes on, reads along and writes a trace."""
