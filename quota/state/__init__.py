"""What the quota engine knows of a cluster, and its snapshots."""
