"""A real control plane on loopback: etcd, the three of Kubernetes, KWOK for the nodes, and reprieve."""
