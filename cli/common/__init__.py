"""What several commands use.

Tests: cluster in tests/unit/cli/leaving/test_commands.py; duration in
tests/unit/cli/pausing/test_pausing.py; ending, output and sources in
tests/unit/cli/plan/test_plan.py; lines in
tests/unit/cli/plan/test_stream.py; logs in tests/unit/cli/serve/test_serve.py; names in test_completion.py; notes and
options in test_command_page.py.
"""
