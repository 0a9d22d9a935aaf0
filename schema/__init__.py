"""The work of an API server on an object, offline: fill in defaults and find faults.

It uses the schemas of `api.crds`, with their CEL rules. Tests compare the verdicts with those of a real API server.

See docs/decisions/0018.

Tests: correlation, labels, lists, metadata, nodes, paths and verdict in test_judge.py; decoding in
test_completed.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from api.crds.kinds import KINDS, Kind
from schema.correlation import Correlated
from schema.decoding import DECODE_ERROR, MANAGED, UNKNOWN_FIELD, completed, decoding_causes, pruned
from schema.lists import duplicates
from schema.metadata import (
    METADATA,
    carried_over,
    created_causes,
    decoded,
    identity_causes,
    readable,
    updated_causes,
)
from schema.nodes import Node, node_of
from schema.paths import NO_PATH
from schema.rules import has_rules, rule_causes
from schema.values import value_causes
from schema.verdict import INVALID, NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID, Cause

__all__ = ["KNOWN", "DECODE_ERROR", "NO_PATH", "UNKNOWN_FIELD", "Object", "Prepared", "judge", "prepare"]

Object = dict[str, Any]
STATUS: Final = "status"
BLOCKING: Final = frozenset({NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID})
"""If there is a cause of one of these types, the rules are not evaluated."""
KNOWN: Final[Mapping[str, Kind]] = {kind.name: kind for kind in KINDS}
"""The kinds that have a schema."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that an API server can read."""

    kind: str
    new: Object
    """The object as it would be stored."""
    old: Object | None
    subresource: str


def prepare(kind: str, new: Object, old: Object | None, subresource: str = "") -> Prepared | list[Cause]:
    """Read the request. The answer is the completed request, or the causes if it cannot be read.

    Defaults are filled in. The part of the object that this endpoint does not write is dropped. `old` is the stored
    object, None to create. The arguments are not changed. Raises KeyError for a kind that is not in KNOWN.
    """
    about, node = KNOWN[kind], node_of(kind)
    causes = decoding_causes(node, about.api_version, kind, new)
    if causes:
        return causes
    stored = None if old is None else _stored(node, old)
    whole = completed(node, new) | {"metadata": decoded(new.get("metadata"))}
    if stored is not None:
        causes = list(identity_causes(_metadata(whole), _metadata(stored), about.namespaced))
        if causes:
            return causes
    if stored is not None and subresource == STATUS:
        whole = _with_status(stored, whole)
    else:
        if about.has_status:
            whole = _with_status(whole, stored or {})
        before = None if stored is None else _metadata(stored)
        whole["metadata"] = carried_over(_metadata(whole), before, about.namespaced)
    return Prepared(kind, whole, stored, subresource)


def judge(request: Prepared) -> list[Cause]:
    """The faults of the object, in the order in which an API server reports them."""
    node, new, old = node_of(request.kind), request.new, request.old
    correlated = None if old is None else Correlated(new, old, node)
    if old is None:
        causes = list(created_causes(_metadata(new)))
    else:
        causes = list(updated_causes(_metadata(new), _metadata(old)))
    if request.subresource != STATUS:
        causes += value_causes(node, new, correlated)
    elif STATUS in new:
        related = None if correlated is None else correlated.key(STATUS)
        causes += value_causes(node.properties[STATUS], new[STATUS], related, STATUS)
    if old is None or not any(duplicates(node, old)):
        causes += duplicates(node, new)
    if not has_rules(node):
        return causes
    if any(cause.type in BLOCKING for cause in causes):
        return [*causes, Cause(NO_PATH, INVALID, "further rules were not checked: these faults come first")]
    return causes + list(rule_causes(node, new, old, correlated))


def _stored(node: Node, old: Object) -> Object:
    """The stored object as an API server reads it: without unknown fields, and without metadata of the wrong type."""
    whole: Object = completed(node, pruned(node, {**old, "metadata": {}}))
    metadata = readable(decoded(old.get("metadata")))
    # API servers do not check the contents of managedFields, and no schema has the field.
    kept = {name: metadata[name] for name in (MANAGED,) if name in metadata}
    return whole | {"metadata": pruned(METADATA, metadata) | kept}


def _with_status(whole: Object, other: Object) -> Object:
    rest = {name: value for name, value in whole.items() if name != STATUS}
    return rest | ({STATUS: other[STATUS]} if STATUS in other else {})


def _metadata(whole: Object) -> Object:
    metadata: Object = whole.get("metadata") or {}
    return metadata
