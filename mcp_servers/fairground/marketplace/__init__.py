"""A two-sided marketplace of customers' assistants and businesses' services (Magentic Marketplace).

Begun and not announced: data, exact baselines, search and the rules of the turn-based clock exist; tools do not.
"""
