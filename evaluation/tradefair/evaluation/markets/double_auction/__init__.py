"""How traces of `double_auction` are evaluated."""
