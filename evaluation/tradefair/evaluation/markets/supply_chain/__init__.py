"""How traces of `supply_chain` are evaluated."""
