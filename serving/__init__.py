"""What every service of ours has: the listeners, what a request may cost, the operators' endpoints."""
