"""The book: who meets whom, at which price, in which order."""
