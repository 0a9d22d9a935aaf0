"""What the planes ask and tell each other.

Tests: accounted in tests/unit/controllers/account/test_account.py; agreements in
tests/unit/controllers/account/test_reporting.py; placements
in tests/unit/controllers/quota/scheduling/test_agreement.py; quota_plane in
tests/unit/controllers/gangs/planning/test_waiting_gangs.py; reports in test_dispatch_reports.py.
"""
