"""How calls and messages are spelt in the formats of others: one mapping, for readers and exports."""
