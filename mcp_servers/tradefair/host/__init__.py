"""The server side: episodes, their logs, MCP binding, seats and transports. The only place with I/O."""
