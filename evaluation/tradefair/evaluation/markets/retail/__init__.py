"""How traces of `retail` are evaluated."""
