"""AdmissionChecks: what keeps them as long as ClusterQueues name them."""
