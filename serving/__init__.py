"""The parts that every service of reprieve has: listeners, limits for requests, the operators' endpoints.

Tests: addresses in tests/unit/web/test_guard.py; connections, limits and sections in test_listeners.py; garbage in
tests/unit/cli/serve/test_serve.py; metrics and ops in tests/unit/runtime/terms/test_process.py; namespaces in
tests/unit/cli/common/test_configuration.py.
"""
