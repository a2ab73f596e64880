"""The clients that `make interop` tries: what to install, and which script plays."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Transport: TypeAlias = Literal["stdio", "http"]


class Stack(NamedTuple):
    """A client from elsewhere, in an environment of its own.

    `packages` are what pip (or npm, for a script in JavaScript) installs; `shown` are the distributions whose versions
    the table gives. By turns one of them is tried a day (`release/turns.py`).
    """

    name: str
    script: str
    packages: tuple[str, ...]
    shown: tuple[str, ...]
    note: str = ""
    transports: tuple[Transport, ...] = ("stdio", "http")

    @property
    def python(self) -> bool:
        return self.script.endswith(".py")


_OLD_SDK = "its release needs the SDK's first generation"

STACKS = (
    Stack("mcp 1", "mcp1.py", ("mcp>=1,<2",), ("mcp",)),
    Stack("mcp 2", "mcp2.py", ("mcp>=2,<3",), ("mcp",)),
    Stack("fastmcp 3", "fastmcp_client.py", ("fastmcp>=3,<4",), ("fastmcp", "mcp")),
    Stack("fastmcp 4", "fastmcp_client.py", ("fastmcp>=4,<5",), ("fastmcp", "mcp")),
    Stack("inspect_ai", "inspect_agent.py", ("inspect-ai", "openai", "mcp"), ("inspect-ai", "mcp")),
    Stack("langchain.mcp", "langchain_mcp.py", ("langchain[mcp]", "langchain-openai"), ("langchain", "fastmcp", "mcp")),
    Stack(
        "langchain-mcp-adapters",
        "langchain_adapters.py",
        ("langchain-mcp-adapters", "langchain", "langchain-openai"),
        ("langchain-mcp-adapters", "langchain", "mcp"),
    ),
    Stack("openai-agents", "openai_agents.py", ("openai-agents",), ("openai-agents", "mcp")),
    Stack("pydantic-ai", "pydantic_ai_agent.py", ("pydantic-ai-slim[openai,mcp]",), ("pydantic-ai-slim", "mcp")),
    Stack("google-adk", "google_adk.py", ("google-adk", "mcp"), ("google-adk", "mcp")),
    Stack(
        "autogen",
        "autogen_agent.py",
        ("autogen-agentchat", "autogen-ext[mcp,openai]", "mcp<2"),
        ("autogen-ext", "mcp"),
        note=_OLD_SDK,
    ),
    Stack(
        "crewai",
        "crewai_crew.py",
        ("crewai", "crewai-tools[mcp]"),
        ("crewai-tools", "crewai", "mcp"),
        note="it shows OpenAI's strict form, in which every parameter is required and null stands for one left out",
    ),
    Stack(
        "smolagents",
        "smolagents_agent.py",
        ("smolagents[mcp,openai]", "mcp<2"),
        ("smolagents", "mcpadapt", "mcp"),
        note=f"{_OLD_SDK}; it has its model fill in every parameter, whether or not a schema requires it",
    ),
    Stack(
        "llama-index",
        "llama_index_agent.py",
        ("llama-index-tools-mcp", "llama-index-llms-openai-like"),
        ("llama-index-tools-mcp", "llama-index-core", "mcp"),
    ),
    Stack("agno", "agno_agent.py", ("agno", "openai", "mcp", "fastmcp"), ("agno", "fastmcp", "mcp")),
    Stack("dspy", "dspy_react.py", ("dspy[mcp]",), ("dspy", "mcp")),
    Stack("strands-agents", "strands_agent.py", ("strands-agents[openai]",), ("strands-agents", "mcp")),
    Stack(
        "agent-framework",
        "agent_framework_agent.py",
        ("agent-framework-openai", "mcp", "tenacity"),
        ("agent-framework-core", "mcp"),
        note="it tells its model no more of a refusal than that the function failed",
    ),
    Stack("semantic-kernel", "semantic_kernel_agent.py", ("semantic-kernel[mcp]",), ("semantic-kernel", "mcp")),
    Stack("haystack", "haystack_agent.py", ("mcp-haystack",), ("mcp-haystack", "haystack-ai", "mcp")),
    Stack(
        "camel",
        "camel_agent.py",
        ("camel-ai", "mcp<2"),
        ("camel-ai", "mcp"),
        note=f"{_OLD_SDK}; it shows the strict form without null, so that `view_history` is refused an empty trader",
    ),
    Stack("mcp-use", "mcp_use_agent.py", ("mcp-use", "langchain-openai"), ("mcp-use", "langchain", "mcp")),
    Stack("mcp-agent", "mcp_agent_app.py", ("mcp-agent[openai]", "mcp<2"), ("mcp-agent", "mcp"), note=_OLD_SDK),
    Stack("TypeScript SDK 1", "sdk1.mjs", ("@modelcontextprotocol/sdk@1",), ("@modelcontextprotocol/sdk",)),
    Stack("TypeScript SDK 2", "sdk2.mjs", ("@modelcontextprotocol/client@2",), ("@modelcontextprotocol/client",)),
    Stack(
        "mcp-remote",
        "mcp_remote.mjs",
        ("mcp-remote", "@modelcontextprotocol/sdk@1"),
        ("mcp-remote", "@modelcontextprotocol/sdk"),
        transports=("http",),
    ),
    Stack(
        "Vercel AI SDK",
        "ai_sdk.mjs",
        ("ai@latest", "@ai-sdk/mcp@latest", "@ai-sdk/openai@latest"),
        ("ai", "@ai-sdk/mcp"),
    ),
    Stack(
        "Mastra",
        "mastra_agent.mjs",
        ("@mastra/core@latest", "@mastra/mcp@latest"),
        ("@mastra/core", "@mastra/mcp"),
        note="it shows OpenAI's strict form",
    ),
    Stack(
        "LangChain.js",
        "langchain_js.mjs",
        ("@langchain/mcp-adapters@latest", "langchain@latest", "@langchain/core@latest", "@langchain/openai@latest"),
        ("@langchain/mcp-adapters", "langchain", "@modelcontextprotocol/sdk"),
    ),
    Stack("openai-agents JS", "openai_agents_js.mjs", ("@openai/agents@latest",), ("@openai/agents",)),
)
