"""The description of the API (OpenAPI 3.1), made from the table of routes and its structs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from web.route import PREFIX, Route
from web.wire.base import Fault

__all__ = ["document"]

REFERENCES: Final = "#/components/schemas/{name}"
MEANS: Final = {
    "namespace": "Namespaces that are looked at, with commas between, for who may not list in all of them. At most 20.",
    "topologyKey": "The label by whose value nodes stand in blocks. By default the one that most PodGroups name.",
    "resource": "The resource whose amounts are shown. By default an extended one, if nodes have any, or else cpu.",
    "q": "A part of a namespace or a name.",
    "topics": "What the stream is about, with commas between: map, waiting, plans, queues.",
    "since": "How far back, such as 12h or 30d. By default 7d.",
    "by": "day, namespace, priority or gang. By default day.",
    "price": "What an hour of a core (cpu), a GiB (memory) or a device costs, such as nvidia.com/gpu=2.5. May be "
    "repeated.",
    "preemptorNamespace": "Only for preemptors of this namespace. By default of all.",
    "preemptor": "KIND/NAMESPACE/NAME of one preemptor, where KIND is podgroup, pod or workload.",
    "kind": "pod, podgroup, job or workload.",
    "name": "The name of the object.",
}
NEEDED: Final = frozenset({"q", "topics"})
FAULTS: Final = {
    "400": "The request is wrong",
    "401": "Nobody is logged in",
    "403": "A right is missing, or the request comes from another page",
    "404": "There is no such object",
    "429": "A limit is reached: Retry-After says when to ask again",
    "503": "It is not known what may be seen, or there is nothing yet",
}
BODY_FAULTS: Final = {
    "408": "The body did not arrive in time",
    "413": "The body is too large, or there is too much in it",
    "415": "The body is of another type",
}


def document(table: Sequence[Route]) -> bytes:
    """As JSON."""
    used = (each for route in table for each in (route.answer, route.body, route.event))
    structs = [each for each in used if each is not None]
    _, schemas = msgspec.json.schema_components([*dict.fromkeys(structs), Fault], ref_template=REFERENCES)
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "reprieve page",
                "version": "v1",
                "description": "Why gangs wait. Read-only, with the rights of the caller.",
            },
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {
                    "bearer": {
                        "type": "http",
                        "scheme": "bearer",
                        "description": "A session, or a token of the API server.",
                    }
                },
            },
        }
    )


def _operation(route: Route) -> dict[str, Any]:
    has_body = route.body is not None or route.text_body != ""
    content = {route.media_type: {"schema": _reference(route.answer) if route.answer is not None else {}}}
    answer: dict[str, Any] = {"description": route.status.phrase}
    if route.answer is not None or route.media_type != "application/json":
        answer["content"] = content
    faults = {
        status: {"description": text, "content": {"application/json": {"schema": _reference(Fault)}}}
        for status, text in (FAULTS | (BODY_FAULTS if has_body else {})).items()
    }
    operation: dict[str, Any] = {
        "summary": route.summary,
        "parameters": [
            *(_parameter(name, "path", needed=True) for name in route.variables),
            *(_parameter(name, "query", needed=name in NEEDED) for name in route.query),
        ],
        "responses": {str(int(route.status)): answer, **faults},
    }
    if not route.is_open:
        operation["security"] = [{"bearer": []}]
    if has_body:
        schema = _reference(route.body) if route.body is not None else {"type": "string"}
        operation["requestBody"] = {
            "required": True,
            "content": {route.text_body or "application/json": {"schema": schema}},
        }
    return operation


def _parameter(name: str, place: str, *, needed: bool) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": needed,
        "description": MEANS[name]
        if (name, place) != ("namespace", "path")
        else "The namespace of the object.",
        "schema": {"type": "string"},
    }


def _reference(struct: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": REFERENCES.format(name=struct.__name__)}
