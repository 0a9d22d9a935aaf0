"""The CustomResourceDefinitions of reprieve's own kinds, made from the structs that read and write them.

    python -m api.crds manifests/crds

Types and bounds are the structs'; descriptions are their docstrings and the sentences below their fields. What a type
cannot say (immutability, one of two) is CEL here.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec.inspect as mi
import yaml
from msgspec import Struct

from api.groups import API_VERSION, DisruptionMode, PodGroup, PodGroupSchedulingPolicy, PodGroupSpec
from api.meta import Condition, ObjectMeta
from api.plans import PreemptionPlan, PreemptionPlanSpec

__all__ = ["definitions", "main"]

Json = dict[str, Any]
Rule = tuple[str, str]
"""(CEL, message)"""


def _unchanged(field: str) -> Rule:
    same = f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    return same, f"{field} is immutable"


RULES: Final[Mapping[type[Struct], Sequence[Rule]]] = {
    PodGroupSpec: [
        _unchanged(name)
        for name in (
            "disruptionMode",
            "schedulingConstraints",
            "priorityClassName",
            "priority",
            "preemptionPolicy",
        )
    ],
    PodGroupSchedulingPolicy: [
        ("has(self.basic) != has(self.gang)", "exactly one of basic and gang must be set"),
        ("has(self.gang) == has(oldSelf.gang)", "the kind of policy is immutable; minCount is not"),
    ],
    DisruptionMode: [("!(has(self.single) && has(self.all))", "at most one of single and all may be set")],
    PreemptionPlanSpec: [("self == oldSelf", "a decision is immutable")],
}

COLUMNS: Final[Mapping[type[Struct], Sequence[tuple[str, str, str]]]] = {
    PodGroup: [
        ("Min", "integer", ".spec.schedulingPolicy.gang.minCount"),
        ("Class", "string", ".spec.priorityClassName"),
        ("Scheduled", "string", '.status.conditions[?(@.type=="PodGroupInitiallyScheduled")].status'),
        ("Reason", "string", '.status.conditions[?(@.type=="PodGroupInitiallyScheduled")].reason'),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
    PreemptionPlan: [
        ("Preemptor", "string", ".spec.preemptor.name"),
        ("Outcome", "string", ".spec.outcome"),
        ("Phase", "string", ".status.phase"),
        ("Victims", "integer", ".spec.victimUnits"),
        ("Pods", "integer", ".spec.victimPods"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
}

SHORT_NAMES: Final[Mapping[type[Struct], str]] = {PodGroup: "rpg", PreemptionPlan: "rplan"}

TYPE_META: Final = {
    "apiVersion": "Version of the schema that this object is written in.",
    "kind": "Kind of the object.",
}


def definitions() -> dict[str, Json]:
    """File name to CustomResourceDefinition, for every kind of ours."""
    group = API_VERSION.partition("/")[0]
    return {f"{group}_{kind.__name__.lower()}s.yaml": _definition(kind) for kind in SHORT_NAMES}


def main(arguments: Sequence[str]) -> int:
    """Write the definitions into the folder that is named; the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m api.crds FOLDER\n")
        return 2
    for name, definition in definitions().items():
        Path(arguments[0], name).write_text(text_of(definition), encoding="utf-8")
    return 0


def text_of(definition: Json) -> str:
    """The definition as YAML, with a line on where it comes from."""
    body = yaml.safe_dump(definition, sort_keys=False, width=110, allow_unicode=True)
    return f"# Generated: python -m api.crds manifests/crds\n{body}"


def _definition(kind: type[Struct]) -> Json:
    group, _, version = API_VERSION.partition("/")
    name = kind.__name__
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name.lower()}s.{group}"},
        "spec": {
            "group": group,
            "names": {
                "kind": name,
                "listKind": f"{name}List",
                "plural": f"{name.lower()}s",
                "singular": name.lower(),
                "shortNames": [SHORT_NAMES[kind]],
                "categories": ["reprieve"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _root_schema(kind)},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": column, "type": type_, "jsonPath": path}
                        for column, type_, path in COLUMNS[kind]
                    ],
                }
            ],
        },
    }


def _root_schema(kind: type[Struct]) -> Json:
    """The schema of a whole object: TypeMeta and ObjectMeta are the API server's own to check."""
    schema = _struct_schema(kind)
    properties = schema["properties"]
    for name, description in TYPE_META.items():
        properties[name] = {"description": description, "type": "string"}
    properties["metadata"] = {"type": "object"}
    schema["required"].remove("metadata")
    return schema


def _struct_schema(struct: type[Struct]) -> Json:
    info = mi.type_info(struct)
    assert isinstance(info, mi.StructType)  # noqa: S101 - narrows the union that type_info returns
    sentences = _field_sentences(struct)
    # What is written out even when it is null has to be nullable; elsewhere a field is left out instead.
    nulls = not struct.__struct_config__.omit_defaults
    schema: Json = {"description": _sentence(inspect.getdoc(struct) or ""), "type": "object"}
    if info.fields:
        schema["properties"] = {
            field.encode_name: _described(_schema(field.type, nulls), sentences.get(field.name))
            for field in info.fields
        }
        schema["required"] = [field.encode_name for field in info.fields if field.required]
        if not schema["required"]:
            del schema["required"]
    if rules := RULES.get(struct):
        schema["x-kubernetes-validations"] = [{"rule": rule, "message": message} for rule, message in rules]
    return schema


def _schema(type_: mi.Type, nulls: bool) -> Json:
    """The structural schema of one type; unions are of a type with null or unset alone."""
    match type_:
        case mi.UnionType(types=types):
            (member,) = (each for each in types if not isinstance(each, mi.NoneType))
            nullable = nulls and type_.includes_none
            return _schema(member, nulls) | ({"nullable": True} if nullable else {})
        case mi.Metadata(type=inner):
            return _schema(inner, nulls)
        case mi.StructType(cls=struct):
            return {"type": "object"} if struct is ObjectMeta else _struct_schema(struct)
        case mi.ListType(item_type=item, max_length=longest):
            return _list_schema(item, longest, nulls)
        case mi.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case mi.IntType(ge=least, le=most):
            return _integer_schema(least, most)
        case mi.StrType(min_length=shortest, max_length=longest):
            bounds = {"minLength": shortest, "maxLength": longest}
            return {"type": "string"} | {name: bound for name, bound in bounds.items() if bound is not None}
        case mi.BoolType():
            return {"type": "boolean"}
        case _:
            raise TypeError(f"no structural schema for {type_!r}")


def _list_schema(item: mi.Type, longest: int | None, nulls: bool) -> Json:
    schema: Json = {"type": "array", "items": _schema(item, nulls)}
    if longest is not None:
        schema["maxItems"] = longest
    if isinstance(item, mi.StructType) and item.cls is Condition:
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return schema


def _integer_schema(least: float | None, most: float | None) -> Json:
    wide = least is None or most is None
    schema: Json = {"type": "integer", "format": "int64" if wide else "int32"}
    if least is not None and least > -(2**31):
        schema["minimum"] = int(least)
    return schema


def _described(schema: Json, sentence: str | None) -> Json:
    """The field's own sentence, before its type's."""
    if sentence is None:
        return schema
    return {"description": sentence} | {
        name: value for name, value in schema.items() if name != "description"
    }


def _field_sentences(struct: type[Struct]) -> dict[str, str]:
    """The strings that follow the struct's fields in its source; Python itself does not keep them."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - the source of a class is a class
    sentences: dict[str, str] = {}
    for field, follower in zip(definition.body, definition.body[1:], strict=False):
        match field, follower:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(sentence))),
            ):
                sentences[name] = _sentence(sentence)
            case _:
                continue
    return sentences


def _sentence(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
