"""Explanations for people: why a pod, group or Job waits, and what would happen. Nothing here decides.

Tests: plan_words, pod_answers and pod_waits in test_group_waits.py.
"""
