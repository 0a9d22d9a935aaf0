"""Reviews as API servers send them."""

from __future__ import annotations

from typing import Any

from webhooks.registrations import REGISTRATIONS

__all__ = ["BY_KIND", "review"]

BY_KIND = {each.kind: each for each in REGISTRATIONS}


def review(value: Any, kind: str, old: Any = None, /, **changes: Any) -> dict[str, Any]:
    """Of a creation, or an update of `old`; `changes` are fields of the request."""
    registration = BY_KIND[kind]
    group = {"group": registration.group, "version": registration.version}
    request = {
        "uid": "u-1",
        "kind": {**group, "kind": kind},
        "resource": {**group, "resource": registration.plural},
        "name": "queue",
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
        "object": value,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions"},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request | changes}
