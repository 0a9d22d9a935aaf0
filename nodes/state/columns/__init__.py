"""The parts that tables are made of: columns, keys, logs, and the classes that rows refer to.

Tests: class_table in test_classes.py; columns, flags and resources in
tests/property/test_tables_machine.py.
"""
