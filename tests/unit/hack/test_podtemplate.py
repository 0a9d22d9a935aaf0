"""From OpenAPI documents to structural schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.crds.fixed import QUANTITY, pod_template
from hack.controlplane.client import Client
from hack.podtemplate import FILE
from hack.podtemplate import pod_template as taken

CORE = "io.k8s.api.core.v1"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def field(name: str, **more: object) -> dict[str, Any]:
    return {"allOf": [reference(name)], **more}


SCHEMAS: dict[str, Any] = {
    f"{CORE}.PodTemplateSpec": {
        "type": "object",
        "properties": {
            "metadata": field(META, default={}, description="Who it is. More: see there."),
            "spec": field(f"{CORE}.PodSpec", default={}),
        },
    },
    META: {
        "type": "object",
        "properties": {
            name: {"type": "string"}
            for name in ("annotations", "finalizers", "labels", "name", "namespace", "uid", "managedFields")
        },
    },
    f"{CORE}.PodSpec": {
        "description": "A pod, e.g. one with a container. Others too.\n\nAnd so on.",
        "type": "object",
        "required": ["ports"],
        "properties": {
            "ports": {
                "type": "array",
                "items": field(f"{CORE}.Port", default={}),
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["protocol"],
                "x-kubernetes-patch-strategy": "merge",
            },
            "limits": {
                "type": "object",
                "additionalProperties": field("io.k8s.apimachinery.pkg.api.resource.Quantity"),
            },
            "restartPolicy": {"type": "string", "enum": ["Always"]},
        },
    },
    f"{CORE}.Port": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "default": ""},
            "protocol": {"type": "string", "default": "TCP"},
            "target": reference("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        },
    },
}


class Document(Client):
    """An API server that has nothing but an OpenAPI document."""

    def __init__(self) -> None:
        super().__init__("http://localhost")

    def request(self, *_: object, **__: object) -> dict[str, Any]:
        return {"components": {"schemas": SCHEMAS}}


@pytest.fixture
def properties() -> dict[str, Any]:
    found: dict[str, Any] = taken(Document())["properties"]
    return found


def test_of_metadata_there_is_what_a_template_may_have(properties: dict[str, Any]) -> None:
    assert list(properties["metadata"]["properties"]) == [
        "annotations",
        "finalizers",
        "labels",
        "name",
        "namespace",
    ]
    assert properties["metadata"]["description"] == "Who it is."


def test_references_are_replaced_and_what_is_not_structural_goes(properties: dict[str, Any]) -> None:
    assert properties["spec"] == {
        "description": "A pod, e.g. one with a container.",
        "type": "object",
        "required": ["ports"],
        "properties": {
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["protocol"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string"},
                        "protocol": {"type": "string", "default": "TCP"},
                        "target": {
                            "anyOf": [{"type": "integer"}, {"type": "string"}],
                            "x-kubernetes-int-or-string": True,
                        },
                    },
                },
            },
            "limits": {"type": "object", "additionalProperties": QUANTITY},
            "restartPolicy": {"type": "string"},
        },
    }


def test_the_committed_schema_is_read_from_the_package() -> None:
    assert pod_template() == json.loads(FILE.read_text())
    assert pod_template()["properties"]["spec"]["required"] == ["containers"]
