"""Two ways to play the same luck, compared: pairs, tests, regret, the first decision that differs."""
