"""The filter and preempt verbs for kube-scheduler: what they answer, their listener, and calls of other replicas."""
