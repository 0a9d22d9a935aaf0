"""The certificates of the admission server: their source, the TLS listener that uses them, and the CA bundles of the
webhooks.

Tests: authorities, authority_secret, bundles, managed and signing in test_managed_certificates.py.
"""
