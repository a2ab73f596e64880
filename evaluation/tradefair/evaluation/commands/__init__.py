"""The commands that audit; nothing here is imported by another room of evaluation."""
