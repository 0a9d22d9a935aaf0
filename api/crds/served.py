"""Whether the CustomResourceDefinitions of a cluster are older than this code: they lack fields that it writes.

The API server drops fields that a definition lacks, and says nothing. Newer definitions have more fields: no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec.inspect as mi

from api.crds.kinds import KINDS, Kind
from api.meta import ObjectMeta
from api.podsets import PodTemplate

__all__ = ["OURS", "lacking"]

OURS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in KINDS if kind.group == "reprieve.dev"}
"""Our own kinds, by name."""
OF_OTHERS: Final = (ObjectMeta, PodTemplate)
"""Structs whose schemas are Kubernetes' own, and have fields that we do not read."""


def lacking(kind: Kind, schema: Mapping[str, Any]) -> list[str]:
    """The paths of the fields of a kind that an openAPIV3Schema does not have, such as `spec.victims[].node`. Where a
    section is lacking, its fields are not named."""
    return list(_lacking(mi.type_info(kind.struct), schema, ""))


def _lacking(type_: mi.Type, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    match type_:
        case mi.UnionType(types=types):
            for each in types:
                yield from _lacking(each, schema, path)
        case mi.Metadata(type=inner):
            yield from _lacking(inner, schema, path)
        case mi.ListType(item_type=item):
            yield from _lacking(item, schema.get("items", {}), f"{path}[]")
        case mi.DictType(value_type=value):
            yield from _lacking(value, schema.get("additionalProperties", {}), f"{path}.*")
        case mi.StructType(cls=struct) if struct not in OF_OTHERS:
            for field in type_.fields:
                yield from _lacking_field(field, schema.get("properties", {}), path)


def _lacking_field(field: mi.Field, properties: Mapping[str, Any], path: str) -> Iterator[str]:
    name = f"{path}.{field.encode_name}".lstrip(".")
    if field.encode_name in properties:
        yield from _lacking(field.type, properties[field.encode_name], name)
    else:
        yield name
