"""The node engine: from tables of nodes, pods and groups to a plan, without any I/O."""
