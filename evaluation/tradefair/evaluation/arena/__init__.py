"""Arenas: who plays what is written down first, entries are checked by re-execution, boards are built from them."""
