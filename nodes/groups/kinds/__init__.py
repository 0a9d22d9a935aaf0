"""The kinds of objects that make pods: one description each, for live decisions and for answers about manifests.

`table.py` has the rows. Tests: test_table.py, and a case for each row in tests/conformance/answers/own/kinds.yaml.
"""
