"""Whether reprieve works in a cluster, and what helps if it does not."""
