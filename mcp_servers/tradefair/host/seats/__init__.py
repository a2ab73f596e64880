"""Scripted seats inside an episode, and the outside services that markets ask."""
