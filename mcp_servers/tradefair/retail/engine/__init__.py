"""Parts of the rules with laws of their own, each tested by itself."""
