"""The CustomResourceDefinitions, made from the structs that read and write the objects.

    python -m api.crds manifests

Types, bounds and defaults come from the structs. Descriptions are the docstrings of the structs and the sentences below
their fields. Two modules add what types cannot express: `api.crds.rules` (CEL) and `api.crds.lists` (how lists merge).

Tests: __main__, kinds, lists, rule, rules, schema and workload_rules in tests/unit/api/test_crds.py; fixed in
tests/unit/hack/test_podtemplate.py.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from api.crds.kinds import KINDS, Kind, definition
from api.crds.schema import root_schema

__all__ = ["definitions", "schema_of"]

Json = dict[str, Any]


def definitions() -> dict[str, Json]:
    """The CustomResourceDefinition of every known kind, ours and Kueue's, by file name."""
    return {kind.file_name: definition(kind, schema_of(kind.name)) for kind in KINDS}


@cache
def schema_of(kind: str) -> Json:
    """The openAPIV3Schema of a kind. Callers share it and must not change it. Raises KeyError for an unknown kind."""
    return root_schema(_kinds()[kind].struct)


@cache
def _kinds() -> dict[str, Kind]:
    return {kind.name: kind for kind in KINDS}
