"""The CustomResourceDefinitions, made from the structs that read and write the objects.

    python -m api.crds manifests

Types, bounds and defaults are the structs'; descriptions are their docstrings and the sentences below their fields.
What a type cannot say is in `api.crds.rules` (CEL) and `api.crds.lists` (which entries of lists are the same one).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from api.crds.kinds import KINDS, Kind, definition
from api.crds.schema import root_schema

__all__ = ["definitions", "schema_of"]

Json = dict[str, Any]


def definitions() -> dict[str, Json]:
    """File name to CustomResourceDefinition, for every kind: ours, and those of Kueue's that we know."""
    return {kind.file_name: definition(kind, schema_of(kind.name)) for kind in KINDS}


@cache
def schema_of(kind: str) -> Json:
    """The openAPIV3Schema of a kind, shared: not to be changed. Raises KeyError for a kind that is none of ours."""
    return root_schema(_kinds()[kind].struct)


@cache
def _kinds() -> dict[str, Kind]:
    return {kind.name: kind for kind in KINDS}
