"""Admission policies of the load: the API server refuses to delete, to mark or to bind some pods.

The policies exist from the beginning. A policy applies to pods with a label, or to nodes that a ConfigMap names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hack.controlplane.client import Json
from hack.controlplane.components import REPRIEVE_USER

__all__ = ["DELETION", "LABEL", "NODES", "STATUS", "policies"]

ADMISSION: Final = "admissionregistration.k8s.io/v1"
LABEL: Final = "stress.example.com/refuse"
"""Label of the pods that are refused something: DELETION or STATUS."""
DELETION: Final = "deletion"
STATUS: Final = "status"
NODES: Final = "stress-refused-nodes"
"""The ConfigMap in `default` whose keys are the nodes to which nobody may be bound."""
EVICTING: Final = f"request.userInfo.username in ['{REPRIEVE_USER}', 'system:kube-scheduler']"
"""Whoever preempts. KWOK and the controllers have to end pods, or nothing would ever be at rest."""


def policies() -> Iterator[Json]:
    """All objects to create."""
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NODES, "namespace": "default"},
        "data": {},
    }
    yield from _policy("stress-deletion", "DELETE", "pods", EVICTING, "false", label=DELETION)
    yield from _policy("stress-status", "UPDATE", "pods/status", EVICTING, "false", label=STATUS)
    yield from _policy(
        "stress-binding",
        "CREATE",
        "pods/binding",
        "true",
        "!has(params.data) || !(object.target.name in params.data)",
        params=NODES,
    )


def _policy(
    name: str, operation: str, resource: str, who: str, allowed: str, *, label: str = "", params: str = ""
) -> Iterator[Json]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]}
    match: dict[str, Any] = {"resourceRules": [rule]}
    if label:
        match["objectSelector"] = {"matchLabels": {LABEL: label}}
    policy: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchConstraints": match,
        "matchConditions": [{"name": "who", "expression": who}],
        "validations": [{"expression": allowed, "message": f"the load refuses it ({name})"}],
    }
    binding: dict[str, Any] = {"policyName": name, "validationActions": ["Deny"]}
    if params:
        policy["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        binding["paramRef"] = {
            "name": params,
            "namespace": "default",
            "parameterNotFoundAction": "Allow",
        }
    meta = {"apiVersion": ADMISSION, "metadata": {"name": name}}
    yield {**meta, "kind": "ValidatingAdmissionPolicy", "spec": policy}
    yield {**meta, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding}
