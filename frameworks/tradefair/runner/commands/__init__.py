"""The commands that play; nothing here is imported by another room of runner."""
