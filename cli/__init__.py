"""The `reprieve` command.

Tests: main in tests/unit/cli/common/test_command_page.py; plugin in tests/unit/cli/common/test_completion.py.
"""
