"""Looks at Workloads and writes them: one writer, one write at a time.

Tests: facts in tests/unit/controllers/quota/scheduling/test_texts.py; looking in tests/e2e/test_quota_admission.py;
shown in tests/unit/controllers/quota/plans/test_plans.py.
"""
