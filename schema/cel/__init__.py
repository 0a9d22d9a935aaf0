"""The Common Expression Language, as far as the rules of our schemas use it.

An expression is parsed once and becomes Python functions. If a rule uses anything else, reading the schema fails. No
rule is skipped.

Tests: evaluation, parser and values in tests/unit/schema/test_cel.py.
"""

from __future__ import annotations

from schema.cel.evaluation import Program, compile_rule
from schema.cel.values import CelError

__all__ = ["CelError", "Program", "compile_rule"]
