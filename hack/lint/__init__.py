"""Checks of the source that no linter has. `python -m hack.lint` runs them; each fault is one line."""
