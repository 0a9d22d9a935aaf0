"""The admission server. It checks and completes preemption settings when they are written.

Tests: configuration in tests/unit/cli/common/test_configuration.py; facts in test_watched.py; metrics in
test_late_classes.py; service in tests/e2e/test_webhook_certificates.py; settings in
tests/unit/webhooks/rules/test_gates.py; stored in tests/unit/controllers/recheck/test_recheck.py.
"""
