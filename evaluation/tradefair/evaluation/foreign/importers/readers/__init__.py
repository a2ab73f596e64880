"""Readers of the formats of others: one module each, over `items` and the walkers of `interchange`."""

from __future__ import annotations

from collections.abc import Mapping

READERS: Mapping[str, str] = {
    "mcp": "mcp",
    "tradefair": "tradefair",
    "trace": "trace",
    "openai": "openai",
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini-cli": "gemini_cli",
    "atif": "atif",
    "inspect": "inspect",
    "tau": "tau",
    "otel": "otel",
    "openinference": "openinference",
    "langsmith": "langsmith",
    "langfuse": "langfuse",
    "swe-agent": "swe_agent",
    "openhands": "openhands",
    "adk": "adk",
    "teams": "teams",
}
"""From the name of a format to the module that has its `READER`; the modules are loaded when a file is detected."""
