"""The endpoints as an OpenAPI document: reviews whose objects are what the CustomResourceDefinitions say."""

from __future__ import annotations

from typing import Any

from api.crds import schema_of
from tests.fuzz.reviewing import ENDPOINTS
from webhooks.registrations import Registration

__all__ = ["document"]

Json = dict[str, Any]

KUBERNETES_ONLY = {"type": "object", "additionalProperties": True}
TEXT = {"type": "string"}
TEXTS = {"type": "object", "additionalProperties": TEXT}


def document() -> Json:
    """Every path, with what may be sent there and what may come back."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "admission reviews", "version": "v1"},
        "paths": {path: {"post": _operation(each)} for path, (_, each) in ENDPOINTS.items()},
    }


def _operation(registration: Registration) -> Json:
    review = _object(
        apiVersion={"type": "string", "enum": ["admission.k8s.io/v1"]},
        kind={"type": "string", "enum": ["AdmissionReview"]},
        request=_request(registration),
    )
    answer = _object(apiVersion=TEXT, kind=TEXT, response=_object(uid=TEXT, allowed={"type": "boolean"}))
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": review}}},
        "responses": {
            "200": {"description": "answered", "content": {"application/json": {"schema": answer}}},
            **{code: {"description": "refused"} for code in ("400", "408", "413", "415", "503")},
        },
    }


def _request(registration: Registration) -> Json:
    asked = {"group": registration.group, "version": registration.version, "kind": registration.kind}
    value = _shape(registration.kind)
    request = _object(
        uid=TEXT,
        kind=_object(**{name: {"type": "string", "enum": [value]} for name, value in asked.items()}),
        operation={"type": "string", "enum": ["CREATE", "UPDATE", "DELETE"]},
        userInfo=_object(username=TEXT),
        object=value,
    )
    request["properties"] |= {"oldObject": value, "subResource": {"type": "string", "enum": ["", "status"]}}
    return request


def _shape(kind: str) -> Json:
    if kind == "Pod":
        return _object(metadata=_object(labels=TEXTS))
    if kind == "Job":
        spec = _object(suspend={"type": "boolean"}, parallelism={"type": "integer"})
        return _object(metadata=_object(labels=TEXTS, annotations=TEXTS), spec=spec)
    schema: Json = _plain(schema_of(kind))
    schema["properties"]["metadata"] = _object(name=TEXT)
    return schema


def _plain(schema: Any) -> Any:
    """The schema without what only API servers know, and without the hundreds of fields of a pod template."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain: Json = {}
    for name, value in schema.items():
        if name.startswith("x-kubernetes-") or name in ("description", "format", "default"):
            continue
        plain[name] = (
            {
                field: dict(KUBERNETES_ONLY) if field == "template" else _plain(each)
                for field, each in value.items()
            }
            if name == "properties"
            else _plain(value)
        )
    if schema.get("x-kubernetes-int-or-string"):
        plain.pop("type", None)
        plain["anyOf"] = [{"type": "integer"}, TEXT]
    return plain


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}
