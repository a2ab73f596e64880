"""What slogans are worth in a scenario of the supply chain: the self-test `language_value`."""
