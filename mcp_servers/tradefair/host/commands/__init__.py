"""The commands that serve seats; nothing here is imported by another room of host."""
