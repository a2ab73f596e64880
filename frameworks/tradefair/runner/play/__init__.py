"""One episode played here: who sits where, how it goes on, what is said at its end."""
