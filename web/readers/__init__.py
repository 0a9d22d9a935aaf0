"""The readers of the page, and what they may list.

Tests: codes and digests in test_sessions.py; door in tests/unit/web/test_application.py; kept, logins, rights and
together in test_authority.py.
"""
