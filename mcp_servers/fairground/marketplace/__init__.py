"""A two-sided marketplace of customers' assistants and businesses' services (Magentic Marketplace).

Unfinished: the data, its exact baselines and the search exist; the market itself is not announced yet.
"""
