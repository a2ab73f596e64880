"""One room per market: what evaluates its traces. Found through the entry-point group `tradefair.evaluators`.

Each room holds `outcomes` (formulas), `charts`, `insight`, `modes/` (failure modes, their table, the evidence map), and
what only this market has. Nothing outside this package imports a market; no room imports another.
"""
