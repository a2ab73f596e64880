"""Runs the code that seats send, in a process that may do nothing else."""
