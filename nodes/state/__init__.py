"""What the engine knows of a cluster: tables of columns, changed event by event, and their snapshots."""
