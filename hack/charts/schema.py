"""The schemas of the charts' values, for Helm: JSON Schema without references."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from cli.common.configuration import Configuration
from hack.charts.folders import Json
from hack.charts.values import CrdValues, Values

__all__ = ["OWNED", "crd_schema", "schema", "text_of"]

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
OFF: Final = "Off"
OWNED: Final = (
    "apiVersion",
    "kind",
    "kubeconfig",
    "ops",
    "webhooks",
    "page",
    "extender.bindAddress",
    "extender.port",
    "extender.tls",
    "planning.mode",
    "planning.enforcedNamespaceSelector",
    "planning.limits",
    "quota.mode",
)
"""The fields of a Configuration that other values set. The value `configuration` lacks them: two files of a process may
not say different things of one field."""
WEBHOOKS: Final = {
    "webhooks": ("bindAddress", "port", "besideKueue", "queues"),
    "leaderElection": ("resourceName",),
    "featureGates": (),
}
PAGE: Final = {"page": ("bindAddress", "port", "tls"), "featureGates": ()}
"""By section that a process of its own reads: the fields that the chart sets."""
DROPPED: Final = ("title", "default")


def schema() -> Json:
    """That of the chart `reprieve`."""
    found = _of(Values)
    configuration = _of(Configuration)
    fields = found["properties"]
    fields["configuration"] = _without(configuration, OWNED)
    fields["webhooks"]["properties"]["configuration"] = _sections(configuration, WEBHOOKS)
    fields["page"]["properties"]["configuration"] = _sections(configuration, PAGE)
    return {"$schema": DIALECT, **found}


def crd_schema() -> Json:
    """That of the chart `reprieve-crds`."""
    return {"$schema": DIALECT, **_of(CrdValues)}


def text_of(found: Json) -> str:
    """The schema as it is in values.schema.json."""
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _of(struct: type[msgspec.Struct]) -> Json:
    whole = msgspec.json.schema(struct)
    found: Json = _inlined(whole, whole["$defs"])
    return found


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """The node with what it refers to in its place, and without what Helm does not need."""
    if isinstance(node, list):
        return [_inlined(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(definitions[node["$ref"].rpartition("/")[2]], definitions)
    found = {
        key: {name: _inlined(each, definitions) for name, each in value.items()}
        if key == "properties"
        else _inlined(value, definitions)
        for key, value in node.items()
        if key not in DROPPED and key != "$defs" and value != []
    }
    if OFF in found.get("enum", ()):
        found["enum"] = [*found["enum"], False]  # YAML reads Off so, without quotes
    if "description" in found:
        found["description"] = _paragraph(str(found["description"]))
    return found


def _paragraph(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line)


def _without(section: Json, paths: tuple[str, ...]) -> Json:
    """The schema of a section, less these fields of it."""
    found = copy.deepcopy(section)
    for path in paths:
        *sections, name = path.split(".")
        inner = found
        for each in sections:
            inner = _not_null(inner["properties"][each])
        del inner["properties"][name]
        if name in inner.get("required", ()):
            inner["required"].remove(name)
    return found


def _not_null(section: Json) -> Json:
    """The section itself, where null is allowed, too. Here it is not: the chart decides whether there is one."""
    if "anyOf" in section:
        (inner,) = (each for each in section.pop("anyOf") if each.get("type") == "object")
        section |= inner
    return section


def _sections(configuration: Json, sections: Mapping[str, tuple[str, ...]]) -> Json:
    """The schema of a Configuration with these sections only."""
    found = {
        name: _without(_not_null(copy.deepcopy(configuration["properties"][name])), owned)
        for name, owned in sections.items()
    }
    return {"type": "object", "properties": found, "additionalProperties": False}
