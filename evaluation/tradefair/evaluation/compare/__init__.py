"""Two ways to play the same luck, side by side: pairs, tests, regret, the first decision that differs."""
