"""The parts that every service of reprieve has: listeners, limits for requests, the operators' endpoints."""
