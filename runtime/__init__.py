"""The base of every controller: terms, views of the cluster, queues, feature gates, the process."""
