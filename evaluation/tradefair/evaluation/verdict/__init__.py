"""The verdict: how an agent did, what went wrong, what it took; one object and one text, wherever it is read."""
