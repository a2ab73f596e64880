"""What the general diagnostics can only learn from the facts of bargaining."""
