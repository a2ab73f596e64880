"""The failure modes of pricing, over one reading of the trace."""
