"""Who leads, and what runs in the process.

Tests: controller in test_ending.py; term in test_process.py.
"""
