"""The way back from Enforce: what it left is listed once, withdrawn and finished, and then nothing is written to pods.

See docs/decisions/0110.

Tests: leftovers, pulsing, rights and units in test_undoing.py; traces in tests/unit/cli/leaving/test_held.py.
"""
