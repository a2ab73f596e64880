"""The kernel's pure types and protocols: what every market, host, agent and evaluator stands on.

Imports the standard library, pydantic and orjson only, and does no I/O (a test installs nothing else).
"""
