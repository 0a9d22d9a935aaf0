"""From documents to what an answer is about. Whoever has bytes passes them in."""
