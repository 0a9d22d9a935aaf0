"""Makes the structural schemas of CRDs from structs."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise
from typing import Any, Final

import msgspec.inspect as mi
from msgspec import NODEFAULT, Struct

from api.crds.fixed import CONDITION, QUANTITY, pod_template
from api.crds.lists import ATOMIC, KEYS, WIDE_CONDITIONS
from api.crds.rules import FIELD_RULES, RULES
from api.meta import Condition, ObjectMeta
from api.podsets import PodTemplate

__all__ = ["root_schema"]

Json = dict[str, Any]

TYPE_META: Final = {
    "apiVersion": "Version of the schema that this object is written in.",
    "kind": "Kind of the object.",
}


def root_schema(kind: type[Struct]) -> Json:
    """The schema of a whole object. The API server itself checks TypeMeta and ObjectMeta."""
    schema = _struct_schema(kind)
    for name, description in TYPE_META.items():
        schema["properties"][name] = {"description": description, "type": "string"}
    schema["properties"]["metadata"] = {"type": "object"}
    schema["required"].remove("metadata")
    if not schema["required"]:
        del schema["required"]
    return schema


def _struct_schema(struct: type[Struct]) -> Json:
    if struct is PodTemplate:
        return pod_template()
    info = mi.type_info(struct)
    assert isinstance(info, mi.StructType)  # noqa: S101 - narrows the union that type_info returns
    schema: Json = {"description": _sentence(inspect.getdoc(struct) or ""), "type": "object"}
    if info.fields:
        sentences = _field_sentences(struct)
        schema["properties"] = {
            field.encode_name: _field_schema(struct, field, sentences.get(field.name))
            for field in info.fields
        }
        schema["required"] = [field.encode_name for field in info.fields if field.required]
        if not schema["required"]:
            del schema["required"]
    if "" in ATOMIC.get(struct, ()):
        schema["x-kubernetes-map-type"] = "atomic"
    if rules := RULES.get(struct):
        schema["x-kubernetes-validations"] = [rule.entry() for rule in rules]
    return schema


def _field_schema(struct: type[Struct], field: mi.Field, sentence: str | None) -> Json:
    """The schema of a field, with the rules and list keys from the tables.

    The description is the sentence below the field. A field without one has the description of its type.
    """
    # A struct that writes nulls needs nullable fields. Another struct leaves the field out.
    nulls = not struct.__struct_config__.omit_defaults
    schema = _schema(field.type, nulls)
    if sentence is not None:
        schema = {"description": sentence} | {
            key: part for key, part in schema.items() if key != "description"
        }
    name = field.encode_name
    keys = KEYS.get(struct, {}).get(name)
    if keys == "set":
        schema["x-kubernetes-list-type"] = "set"
    elif keys is not None:
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    if name == "conditions" and struct not in WIDE_CONDITIONS:
        schema["items"] = CONDITION
    if name in ATOMIC.get(struct, ()):
        schema["x-kubernetes-map-type"] = "atomic"
    if rules := FIELD_RULES.get(struct, {}).get(name):
        schema["x-kubernetes-validations"] = [rule.entry() for rule in rules]
    is_root = "metadata" in struct.__struct_fields__
    return schema if is_root else schema | _default(field)


def _default(field: mi.Field) -> Json:
    """The default that an API server fills in: a struct's own defaults, or a value. An empty value needs no default."""
    if isinstance(field.default_factory, type) and issubclass(field.default_factory, Struct):
        return {"default": {}}
    if field.default is not NODEFAULT and isinstance(field.default, bool | int | str) and field.default:
        return {"default": field.default}
    return {}


def _schema(type_: mi.Type, nulls: bool) -> Json:
    """The structural schema of one type. A union must be a quantity, or one type with null or unset.

    Raises TypeError for a type without a structural schema.
    """
    match type_:
        case mi.UnionType(types=types):
            return _union_schema(types, nulls)
        case mi.Metadata(type=inner, extra_json_schema=extra):
            return _schema(inner, nulls) | (extra or {})
        case mi.StructType(cls=struct):
            return {"type": "object"} if struct is ObjectMeta else _struct_schema(struct)
        case mi.ListType():
            return _list_schema(type_, nulls)
        case mi.DictType(value_type=value, min_length=fewest, max_length=most):
            bounds = _bounds(minProperties=fewest, maxProperties=most)
            return {"type": "object", "additionalProperties": _schema(value, nulls)} | bounds
        case mi.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case mi.IntType(ge=least, le=most):
            return _integer_schema(least, most)
        case mi.StrType(min_length=shortest, max_length=longest, pattern=pattern):
            return {"type": "string"} | _bounds(minLength=shortest, maxLength=longest, pattern=pattern)
        case mi.BoolType():
            return {"type": "boolean"}
        case _:
            raise TypeError(f"no structural schema for {type_!r}")


def _union_schema(types: tuple[mi.Type, ...], nulls: bool) -> Json:
    members = [each for each in types if not isinstance(each, mi.NoneType)]
    nullable = nulls and len(members) < len(types)
    if {type(each) for each in members} == {mi.StrType, mi.IntType, mi.FloatType}:
        return dict(QUANTITY)
    (member,) = members
    return _schema(member, nulls) | ({"nullable": True} if nullable else {})


def _list_schema(type_: mi.ListType, nulls: bool) -> Json:
    item = type_.item_type
    schema: Json = {"type": "array", "items": _schema(item, nulls)}
    schema |= _bounds(minItems=type_.min_length, maxItems=type_.max_length)
    if isinstance(item, mi.StructType) and item.cls is Condition:
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return schema


def _integer_schema(least: float | None, most: float | None) -> Json:
    wide = least is None or most is None
    schema: Json = {"type": "integer", "format": "int64" if wide else "int32"}
    if least is not None and least > -(2**31):
        schema["minimum"] = int(least)
    return schema


def _bounds(**bounds: str | int | None) -> Json:
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _field_sentences(struct: type[Struct]) -> dict[str, str]:
    """The string below each field in the source of the struct and its bases. Python does not keep these strings."""
    sentences: dict[str, str] = {}
    for each in reversed(struct.__mro__):
        if issubclass(each, Struct) and each is not Struct:
            sentences |= _own_sentences(each)
    return sentences


def _own_sentences(struct: type[Struct]) -> dict[str, str]:
    body = _classes(struct.__module__)[struct.__name__].body
    sentences: dict[str, str] = {}
    for field, follower in pairwise(body):
        match field, follower:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(sentence))),
            ):
                sentences[name] = _sentence(sentence)
            case _:
                continue
    return sentences


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes in the source of a module, by name."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in source.body if isinstance(node, ast.ClassDef)}


def _sentence(text: str) -> str:
    return " ".join(text.split())
