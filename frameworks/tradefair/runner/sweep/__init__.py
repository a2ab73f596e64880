"""Every episode of a plan, in one process or many."""
