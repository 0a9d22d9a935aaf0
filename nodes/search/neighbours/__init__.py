"""What members ask of other pods and of volumes: the filters that count pods and attachments.

Tests: attachments in test_volume_claims.py; kinds in test_tokens.py.
"""
