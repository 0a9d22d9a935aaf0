"""`python -m hack.page_types FILE` writes web/app/src/wire.ts: what the server of the page answers, for TypeScript."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from web.openapi import document
from web.routes import described

__all__ = ["main", "types"]

HEAD: Final = """\
// Generated: python -m hack.page_types web/app/src/wire.ts
/** What the server answers, and what it is asked with: the schemas of `api/v1/openapi.json`. */
"""
NAME: Final = re.compile(r"[A-Za-z_]\w*")
PLAIN: Final[Mapping[str, str]] = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def types() -> str:
    """The whole file."""
    api = msgspec.json.decode(document(described()))
    bodies = {name for each in _operations(api["paths"]) if (name := _body(each))}
    schemas: Mapping[str, Any] = api["components"]["schemas"]
    return "\n".join([HEAD, *(_interface(name, schema, name in bodies) for name, schema in schemas.items())])


def _operations(paths: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for methods in paths.values():
        yield from methods.values()


def _body(operation: Mapping[str, Any]) -> str:
    """The name of what it is asked with; empty if it has no body of ours."""
    contents = operation.get("requestBody", {}).get("content", {}).values()
    return next((name for each in contents if (name := _name(each["schema"]))), "")


def _interface(name: str, schema: Mapping[str, Any], is_body: bool) -> str:
    """What is sent may lack fields with a default. Answers have these. Others that are not required may be absent."""
    said = schema.get("description", "").splitlines()
    needed = set(schema.get("required", ()))
    if not is_body:
        needed |= {field for field, value in schema["properties"].items() if "default" in value}
    lines = [f"/** {said[0]} */"] if said else []
    lines.append(f"export interface {name} {{")
    for field, value in schema["properties"].items():
        sign = "" if field in needed else "?"
        lines.append(f"  readonly {_key(field)}{sign}: {_type(value)};")
    return "\n".join([*lines, "}\n"])


def _key(field: str) -> str:
    return field if NAME.fullmatch(field) else json.dumps(field)


def _type(schema: Mapping[str, Any]) -> str:
    if name := _name(schema):
        return name
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    kind = schema.get("type", "")
    if kind == "array":
        return f"readonly {_element(schema['items'])}[]"
    if kind == "object":
        values = schema.get("additionalProperties", {})
        return f"Readonly<Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>>"
    return PLAIN.get(kind, "unknown")


def _element(schema: Mapping[str, Any]) -> str:
    text = _type(schema)
    return f"({text})" if " | " in text or text.startswith("readonly ") else text


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def main(arguments: Sequence[str]) -> None:
    """Write the file that the only argument names."""
    (path,) = arguments
    Path(path).write_text(types(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
