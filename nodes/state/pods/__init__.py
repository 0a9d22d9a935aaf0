"""The table of pods, and what it reads from one pod.

Tests: nominations, pod_facts, succeeded and terminations in tests/unit/nodes/state/test_tables.py; counts
and pods in tests/property/test_tables_machine.py.
"""
