"""How traces of `teaching` are evaluated."""
