"""Agent graphs. They know tools, not rules, and reach a market only over an open `mcp.Client`."""
