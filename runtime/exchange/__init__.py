"""What the planes ask and tell each other."""
