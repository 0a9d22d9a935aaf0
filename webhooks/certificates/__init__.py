"""The certificates of the admission server: their source, the TLS listener that uses them, and the CA bundles of the
webhooks."""
