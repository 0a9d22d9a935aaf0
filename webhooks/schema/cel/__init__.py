"""The Common Expression Language, as far as the rules of our schemas use it.

An expression is read once and becomes Python functions. What a rule uses and this does not know is an error when the
schema is read, never a rule that is passed over.
"""

from __future__ import annotations

from webhooks.schema.cel.evaluation import Program, compile_rule
from webhooks.schema.cel.values import CelError

__all__ = ["CelError", "Program", "compile_rule"]
