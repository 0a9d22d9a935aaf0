"""The `reprieve` command."""
