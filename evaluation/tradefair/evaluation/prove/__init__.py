"""What a trace proves: hash chain, seals, and each seat played again."""
