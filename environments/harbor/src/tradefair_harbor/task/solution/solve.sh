#!/bin/sh
# Plays the seat to its end without skill: it shows that the trial can be played, and what no skill earns.
exec python3 "$(dirname "$0")/solve.py"
