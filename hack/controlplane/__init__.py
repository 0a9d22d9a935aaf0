"""A real control plane on loopback: etcd, three Kubernetes components, KWOK for the nodes, and reprieve."""
