"""One process's live mirror of a cluster: watches, columnar tables, snapshots, leases and conditioned writes."""
