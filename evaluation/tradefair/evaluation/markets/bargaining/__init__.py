"""How traces of `bargaining` are evaluated."""
