"""What evaluates the market `pricing`."""
