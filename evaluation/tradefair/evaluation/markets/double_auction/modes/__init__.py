"""What the double auction tells the general diagnostics."""
