"""What stored plans say: in a list, one by one, and in time.

A plan that is only observed or proposed evicts nobody, and no text here says so of it.

Tests: about, listed, nodes, phases, rows and staying in test_plans.py; gone in test_history.py.
"""
