"""The ClusterQueue side: who holds quota, who wants it, and whose must go."""
