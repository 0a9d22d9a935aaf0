"""PodGroups in queues."""
