"""What the double auction and the bargaining market share: values, clearing, chance, game logs, the seller mirror.

Pure code for general numbers of seats; not a market. Imports only the standard library, pydantic, orjson
and `contract`.
"""
