"""Signs of collusion among firms that post prices: are prices elevated, and does anything hold them up?"""
