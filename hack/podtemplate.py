"""The schema of pod templates for a CRD, from the OpenAPI document of the pinned API server.

    python -m hack.podtemplate

writes api/crds/podtemplate.json. A structural schema cannot have references and oneOf, so they are replaced. Patch
strategies and the empty defaults of required fields are left out. Enums are left out, too: they grow with every
Kubernetes version, and the API server checks them when it creates the pods. The pods' metadata has only the fields
that a template may have.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from api.crds.fixed import QUANTITY
from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["FILE", "pod_template"]

Json = dict[str, Any]

FILE: Final = Path(__file__).parent.parent / "api" / "crds" / "podtemplate.json"
OPENAPI: Final = "/openapi/v3/api/v1"
TEMPLATE: Final = "io.k8s.api.core.v1.PodTemplateSpec"
METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
QUANTITY_TYPE: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

TEMPLATE_METADATA: Final = ("annotations", "finalizers", "labels", "name", "namespace")
KEPT: Final = (
    "description",
    "type",
    "format",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
SENTENCE: Final = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)\.\s")


def pod_template(client: Client) -> Json:
    """PodTemplateSpec of the API server that the client talks to."""
    schemas: Json = client.request("GET", OPENAPI)["components"]["schemas"]
    return _Structural(schemas).named(TEMPLATE)


class _Structural:
    """The schemas of a document, with references replaced by what they refer to."""

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        self._schemas = schemas

    def named(self, name: str) -> Json:
        """The schema of a type."""
        if name == QUANTITY_TYPE:
            return dict(QUANTITY)
        if name == INT_OR_STRING:
            return {key: part for key, part in QUANTITY.items() if key != "pattern"}
        schema = self.of(self._schemas[name])
        if name == METADATA:
            schema["properties"] = {part: schema["properties"][part] for part in TEMPLATE_METADATA}
            for part in schema["properties"].values():
                part.pop("x-kubernetes-list-type", None)
        return schema

    def of(self, schema: Json) -> Json:
        """The schema of a field. Its own description replaces that of its type."""
        result: Json = {}
        for reference in (schema, *schema.get("allOf", ())):
            if "$ref" in reference:
                result |= self.named(reference["$ref"].rpartition("/")[2])
        result |= {key: schema[key] for key in KEPT if key in schema}
        if "description" in result:
            result["description"] = _first_sentence(result["description"])
        if "properties" in schema:
            required = schema.get("required", ())
            result["properties"] = {
                name: self._property(member, name in required)
                for name, member in schema["properties"].items()
            }
        for part in ("items", "additionalProperties"):
            if part in schema:
                result[part] = self.of(schema[part])
        return result

    def _property(self, schema: Json, required: bool) -> Json:
        result = self.of(schema)
        # Every required field has an empty default there, because Go decodes a missing value to it.
        if "default" in schema and not required and schema["default"] != {}:
            result["default"] = schema["default"]
        return result


def _first_sentence(text: str) -> str:
    """The first sentence is enough for `kubectl explain`. Whole texts would make the CRD too long for client-side
    apply."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = SENTENCE.split(f"{paragraph} ", maxsplit=1)[0].strip()
    return sentence if sentence.endswith((".", ":", "!")) or sentence == paragraph else f"{sentence}."


def main() -> int:
    """Write the schema of the pinned version. Returns the exit code."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder), Options(api_only=True)) as plane:
        schema = pod_template(plane.client)
    FILE.write_text(f"{json.dumps(schema, indent=1, sort_keys=True)}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
