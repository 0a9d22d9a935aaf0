"""Checks of meta/v1 ObjectMeta. Schemas do not describe it: API servers read and check it by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from api.names import MAX_NAME
from api.syntax import label_key_faults, subdomain_faults
from api.words import shown
from schema.labels import annotation_causes, invalid, label_causes
from schema.nodes import Json, Node, read_node
from schema.values import value_causes
from schema.verdict import FORBIDDEN, INVALID, REQUIRED, Cause

__all__ = [
    "METADATA",
    "carried_over",
    "created_causes",
    "decoded",
    "identity_causes",
    "readable",
    "updated_causes",
]

STRING: Final = {"type": "string"}
TIME: Final = {"type": "string", "format": "date-time"}
INT64: Final = {"type": "integer", "format": "int64"}
BOOL: Final = {"type": "boolean"}
STRINGS: Final = {"type": "object", "additionalProperties": STRING}


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


def _list(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


METADATA: Final[Node] = read_node(
    _object(
        **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"), STRING),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIME),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), INT64),
        labels=STRINGS,
        annotations=STRINGS,
        finalizers=_list(STRING),
        ownerReferences=_list(
            _object(
                **dict.fromkeys(("apiVersion", "kind", "name", "uid"), STRING),
                controller=BOOL,
                blockOwnerDeletion=BOOL,
            )
        ),
        managedFields={"type": "array"},
    )
)
"""The fields and their types."""
SYSTEM: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
"""Fields that API servers set. On update they restore the old values."""
DEFAULT_NAMESPACE: Final = "default"
LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""RFC 1123."""
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
SUFFIX: Final = "abcde"
"""As long as the suffix that API servers append to generateName."""


def decoded(metadata: Json) -> Json:
    """The metadata as Go decodes it: a null field has the value of an absent field."""
    return _decoded(METADATA, metadata)


def _decoded(node: Node, value: Json) -> Json:
    if value is None and node.types == ("string",):
        return "" if not node.format else None
    if isinstance(value, dict):
        parts = ((name, node.child(name), part) for name, part in value.items())
        read = {name: part if known is None else _decoded(known, part) for name, known, part in parts}
        return {name: part for name, part in read.items() if part is not None}
    if isinstance(value, list) and node.items is not None:
        empty: Json = {} if node.items.types == ("object",) else None
        return [_decoded(node.items, empty if item is None else item) for item in value]
    return value


def readable(metadata: Json) -> dict[str, Json]:
    """The fields of stored metadata that have the right type."""
    if not isinstance(metadata, dict):
        return {}
    return {name: part for name, part in metadata.items() if not value_causes(METADATA, {name: part}, None)}


def carried_over(metadata: dict[str, Json], old: dict[str, Json] | None, namespaced: bool) -> dict[str, Json]:
    """The metadata as it is stored.

    It has the namespace of the request's URL, and the old values of the fields that the system sets.
    """
    stored = dict(metadata)
    stored.pop("namespace", None)
    if "ownerReferences" in stored:
        stored["ownerReferences"] = _distinct(stored["ownerReferences"])
    if namespaced:
        stored["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    if old is None:
        if not stored.get("name") and stored.get("generateName"):
            stored["name"] = stored["generateName"] + SUFFIX
        return stored
    return stored | {name: old[name] for name in SYSTEM if name in old}


def created_causes(metadata: dict[str, Json]) -> Iterator[Cause]:
    """The faults in the metadata of a new object."""
    name = metadata.get("name") or ""
    if prefix := metadata.get("generateName"):
        yield from invalid("metadata.generateName", subdomain_faults(prefix.removesuffix("-") + SUFFIX))
    if not name:
        yield Cause("metadata.name", REQUIRED, "name or generateName is required")
    else:
        yield from invalid("metadata.name", subdomain_faults(name))
    if namespace := metadata.get("namespace"):
        yield from invalid("metadata.namespace", _namespace_faults(namespace))
    yield from _common_causes(metadata)


def identity_causes(metadata: dict[str, Json], old: dict[str, Json], namespaced: bool) -> Iterator[Cause]:
    """Why the metadata belongs to another object than the stored one. API servers check nothing more in this case."""
    for field, absent in {"name": "", **({"namespace": DEFAULT_NAMESPACE} if namespaced else {})}.items():
        sent, stored = metadata.get(field) or absent, old.get(field) or absent
        if sent != stored:
            yield Cause(f"metadata.{field}", INVALID, f"is {shown(sent)}, not {shown(stored)}")
    if metadata.get("uid") and old.get("uid") and metadata["uid"] != old["uid"]:
        yield Cause(
            "metadata.uid",
            INVALID,
            f"is {shown(metadata['uid'])}: it was another object, now {shown(old['uid'])}",
        )


def updated_causes(metadata: dict[str, Json], old: dict[str, Json]) -> Iterator[Cause]:
    """The faults in metadata that replaces other metadata."""
    if old.get("deletionTimestamp") is not None:
        added = set(metadata.get("finalizers") or []) - set(old.get("finalizers") or [])
        if added:
            names = ", ".join(sorted(added))
            yield Cause(
                "metadata.finalizers", FORBIDDEN, f"the object is being deleted: no more finalizers ({names})"
            )
    yield from _common_causes(metadata)


def _namespace_faults(namespace: str) -> Iterator[str]:
    if len(namespace) > MAX_NAME or LABEL.fullmatch(namespace) is None:
        yield f"{shown(namespace)} is no label of RFC 1123: at most {MAX_NAME} lower case letters, digits and '-'"


def _common_causes(metadata: dict[str, Json]) -> Iterator[Cause]:
    yield from label_causes(metadata.get("labels") or {}, "metadata.labels")
    yield from annotation_causes(metadata.get("annotations") or {}, "metadata.annotations")
    yield from _owner_causes(metadata.get("ownerReferences") or [])
    finalizers = metadata.get("finalizers") or []
    for finalizer in finalizers:
        yield from invalid("metadata.finalizers", label_key_faults(finalizer))
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        yield Cause("metadata.finalizers", INVALID, f"{ORPHAN} and {FOREGROUND} exclude each other")


def _owner_causes(owners: list[dict[str, Json]]) -> Iterator[Cause]:
    for index, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{index}]"
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield Cause(f"{path}.{field}", REQUIRED, "must be set")
        version = owner.get("apiVersion") or "v0"
        if version.count("/") > 1 or version.endswith("/"):
            yield Cause(
                f"{path}.apiVersion", INVALID, f"{shown(version)} is no <group>/<version>, nor a version"
            )
        if (version, owner.get("kind")) == ("v1", "Event"):
            yield Cause(path, INVALID, "an Event owns nothing")
    controllers = [owner for owner in owners if owner.get("controller")]
    for owner in controllers[1:]:
        yield Cause(
            "metadata.ownerReferences", INVALID, f"{shown(owner.get('name'))} is not the only controller"
        )


def _distinct(owners: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Without repeated entries. API servers drop them, too."""
    distinct: list[dict[str, Json]] = []
    for owner in owners:
        said = {field: part for field, part in owner.items() if part != ""}
        if said not in distinct:
            distinct.append(said)
    return distinct
