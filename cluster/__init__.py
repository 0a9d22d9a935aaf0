"""One process's live mirror of a cluster: watches, columnar tables, snapshots and conditioned writes."""
