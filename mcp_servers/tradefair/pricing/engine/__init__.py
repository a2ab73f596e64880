"""What is exact: demand in integers, and the prices that theory names."""
