"""The report of what preemption costs: days, rows, amounts.

Tests: costs, prices and report in tests/unit/cli/report/test_report.py; decisions and days in
tests/unit/cli/report/test_reported_days.py; rows in tests/unit/cli/report/test_page.py.
"""
