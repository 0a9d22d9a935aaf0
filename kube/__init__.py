"""The client side of the API server: requests, list and watch, retried writes, events. Knows no kind of object.

Tests: descriptors and errors in test_client.py; discovery and reading in tests/unit/cli/common/test_live.py; decoding,
envelopes and refusals in test_reflector.py; listing in tests/unit/cli/leaving/test_sweep.py; metrics in test_client.py.
"""
