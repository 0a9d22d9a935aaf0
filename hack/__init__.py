"""What developing needs and the product never imports: the local control plane, and what is shown on it."""
