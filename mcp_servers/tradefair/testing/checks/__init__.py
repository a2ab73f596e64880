"""What a market must do: one function for each promise."""
