"""A decision redone on the same luck."""
