"""A load of Workloads for any cluster with Kueue's API. It needs a kubeconfig, and knows nothing of who admits them."""
