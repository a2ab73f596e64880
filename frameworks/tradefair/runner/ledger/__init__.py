"""What a decision was worth: turns played again with the best known policies."""
