"""Who leads, and what runs in the process.

Tests: controller and term in test_process.py; controller in test_ending.py, too.
"""
