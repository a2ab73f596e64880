"""How traces of `marketplace` are evaluated."""
