"""One episode: its log, its writer, who waits for it, and what is rebuilt after a stop."""
