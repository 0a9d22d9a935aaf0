"""Certificates of listeners: how they are served, renewed and read again while the listener runs.

Tests: keeping and live_context in test_files.py.
"""
