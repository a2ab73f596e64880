"""What is released beside the wheel: the container's steps without Docker, the bundle for desktop clients."""
