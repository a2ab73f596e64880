"""What evaluates the market `order_book`."""
