"""What several commands use.

Tests: checks and documents in test_objects.py; cluster in tests/unit/cli/leaving/test_commands.py; ending, output
and sources in tests/unit/cli/plan/test_plan.py; lines in tests/unit/cli/plan/test_stream.py; names in
test_completion.py; options in test_command_page.py; planes in tests/unit/cli/why/test_queues.py; quotas in
tests/unit/cli/quota/test_quota.py.
"""
