"""What tools answer: result models."""
