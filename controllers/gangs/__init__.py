"""Gang preemption on nodes (KEP-5710): gangs, plans, reservations, evictions."""
