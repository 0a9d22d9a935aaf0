"""The quota plane: who holds quota, and what the queues say about it."""
