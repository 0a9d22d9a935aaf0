"""`python -m hack.page_api FILE` writes docs/page-api.md: the addresses of the page's API, and what they answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from web.openapi import document
from web.route import PREFIX
from web.routes import described

__all__ = ["main", "page"]

HEAD: Final = f"""\
<!-- Generated: python -m hack.page_api docs/page-api.md -->
# The page's API

[page.md](page.md) says who can reach it, and who sees what. All addresses begin with `{PREFIX}`, and answer JSON.
`GET {PREFIX}/openapi.json` describes them for programs (OpenAPI 3.1). Every request but `POST {PREFIX}/session` needs
the header `Authorization: Bearer`, with a session or with a token of the API server.
"""
EVENTS: Final = f"""\
## Events

`GET {PREFIX}/events?topics=waiting` is a stream of server-sent events. Read it with `fetch`, because it needs the
header `Authorization`, too.

| event | data | |
|---|---|---|
| `waiting` | `version`, also its id | what waits has changed, or the reader's rights have: ask for `waiting` again |
| `queues` | `version`, also its id | the same of `queues`, for a stream with this topic |
| `map` | [Frame](#frame), `version` is its id | what has changed, by the stream's `topologyKey` and `resource` |
| `reset` | | the version in `Last-Event-ID` is old, or of another process. Ask for all anew |
| `ended` | `reason` | the stream ends. `Unauthorized`: log in again. `Unavailable`: come back later |

If the stream has the map, too, the id of each event is the version to which its frames lead.
There is at most one event a second for each topic, a frame of the map every 50 ms, and a comment every two seconds.
Open the stream, then ask for the map: a frame may have what the map has already. A stream that ends without
`ended` may be opened again.
"""


def page() -> str:
    """The whole file."""
    found = msgspec.json.decode(document(described()))
    return "\n".join([HEAD, *_addresses(found["paths"]), EVENTS, *_objects(found["components"]["schemas"])])


def _addresses(paths: Mapping[str, Any]) -> Iterator[str]:
    yield "## Addresses\n"
    yield "| | | parameters | answer |"
    yield "|---|---|---|---|"
    for path, methods in paths.items():
        for method, operation in methods.items():
            names = [f"`{each['name']}`" for each in operation["parameters"] if each["in"] == "query"]
            status, answer = next(iter(operation["responses"].items()))
            schemas = [content["schema"] for content in answer.get("content", {}).values()]
            named = [f"[{name}](#{name.lower()})" for each in schemas if (name := _name(each))]
            yield (
                f"| `{method.upper()} {path}` | {operation['summary']} | {', '.join(names)} "
                f"| {status} {', '.join(named)} |"
            )
    yield "\nA fault is a [Fault](#fault), with one of these statuses:\n"
    yield "| | |"
    yield "|---|---|"
    faults = next(iter(paths.values()))["get"]["responses"]
    for status, fault in faults.items():
        if not status.startswith("2"):
            yield f"| {status} | {fault['description']} |"
    yield ""


def _objects(schemas: Mapping[str, Any]) -> Iterator[str]:
    yield "## Objects"
    for name, schema in schemas.items():
        yield f"\n### {name}\n"
        yield f"{schema.get('description', '').splitlines()[0]}\n"
        yield "| field | type |"
        yield "|---|---|"
        for field, value in schema["properties"].items():
            yield f"| `{field}` | {_type(value)} |"


def _type(schema: Mapping[str, Any]) -> str:
    if name := _name(schema):
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    return str(schema.get("type", "anything"))


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def main(arguments: Sequence[str]) -> None:
    """Write the file that the only argument names."""
    (path,) = arguments
    Path(path).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
