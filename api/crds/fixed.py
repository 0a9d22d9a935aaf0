"""Schemas that do not come from a struct: quantities, strict conditions, pod templates."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any, Final

__all__ = ["CONDITION", "QUANTITY", "pod_template"]

Json = dict[str, Any]

QUANTITY: Final[Json] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": (
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
        r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
    ),
    "x-kubernetes-int-or-string": True,
}
"""resource.Quantity. All generators of Kubernetes write this pattern."""

CONDITION: Final[Json] = {
    "description": "Whether something holds.",
    "type": "object",
    "properties": {
        "type": {
            "description": "What it is about.",
            "type": "string",
            "maxLength": 316,
            "pattern": (
                r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
            ),
        },
        "status": {
            "description": "Whether it holds.",
            "type": "string",
            "enum": ["True", "False", "Unknown"],
        },
        "reason": {
            "description": "Why, in one word.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1024,
            "pattern": r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        },
        "message": {"description": "Why, in a sentence; may be empty.", "type": "string", "maxLength": 32768},
        "lastTransitionTime": {
            "description": "When the status changed.",
            "type": "string",
            "format": "date-time",
        },
        "observedGeneration": {
            "description": "The generation of the object that the condition describes.",
            "type": "integer",
            "format": "int64",
            "minimum": 0,
        },
    },
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
}
"""meta/v1 Condition. `api.meta.Condition` also reads conditions of pods and nodes, which may have fewer fields."""


@cache
def pod_template() -> Json:
    """The schema of core/v1 PodTemplateSpec. hack/podtemplate.py took it from an API server."""
    text = resources.files("api.crds").joinpath("podtemplate.json").read_text(encoding="utf-8")
    schema: Json = json.loads(text)
    return schema
