"""The kube-scheduler side: verbs, gangs, domains, plans, reservations, eviction."""
