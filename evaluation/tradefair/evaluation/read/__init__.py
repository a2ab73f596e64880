"""Small readers that several rooms share."""
