"""The server side: an environment per session, each with an episode of its own."""
