"""What tools answer: result models, and what fills them."""
