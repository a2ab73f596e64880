"""The failure modes of the order book, over one reading of the trace."""
