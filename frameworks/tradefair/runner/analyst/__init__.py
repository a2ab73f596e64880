"""The analyst: asks a model what it makes of talk and play. Its opinions are stored apart and enter no score."""
