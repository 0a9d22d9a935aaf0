"""The loop of cycles, and what it asks of the nodes plane."""
