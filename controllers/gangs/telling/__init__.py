"""What people read: events, conditions and the status of PodGroups."""
