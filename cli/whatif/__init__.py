"""`reprieve what-if`.

Tests: command, steps and workloads in test_what_if.py; objects in test_train_jobs.py; render in test_doc.py.
"""
