"""An API server that is a few dictionaries: Secrets and webhook configurations, with resource versions."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import orjson

from kube.client import ApiError

SECRETS = "/api/v1/namespaces/ns/secrets"
SECRET = f"{SECRETS}/ca"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hooks"


class Api:
    """Objects by path."""

    cluster = ""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.written: list[tuple[str, str]] = []
        """(method, path)."""
        self.refuse: Callable[[str, str], ApiError | None] = lambda _method, _path: None
        self._version = 0

    def put(self, path: str, value: dict[str, Any]) -> None:
        """Have this object there."""
        self._version += 1
        value.setdefault("metadata", {})["resourceVersion"] = str(self._version)
        self.objects[path] = value

    async def request(self, method: str, path: str, *, body: bytes | None = None, **_: object) -> bytes:
        """As ApiClient."""
        if error := self.refuse(method, path):
            raise error
        value = orjson.loads(body) if body else {}
        if method == "POST":
            path = f"{path}/{value['metadata']['name']}"
            if path in self.objects:
                raise ApiError(409, "AlreadyExists", path)
            self.put(path, value)
        elif path not in self.objects:
            raise ApiError(404, "NotFound", path)
        elif method == "PATCH":
            self._patch(path, value)
        if method != "GET":
            self.written.append((method, path))
        return orjson.dumps(self.objects[path])

    def _patch(self, path: str, patch: dict[str, Any]) -> None:
        stored = self.objects[path]
        if patch["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", path)
        if "data" in patch:
            stored["data"] = (stored.get("data") or {}) | patch["data"]
        for webhook in patch.get("webhooks", []):
            mine = next(each for each in stored["webhooks"] if each["name"] == webhook["name"])
            mine["clientConfig"] |= webhook["clientConfig"]
        self.put(path, stored)

    def bundles(self) -> list[bytes]:
        """Of all webhooks."""
        return [
            base64.b64decode(webhook["clientConfig"].get("caBundle", ""))
            for path in (VALIDATING, MUTATING)
            if path in self.objects
            for webhook in self.objects[path]["webhooks"]
        ]


def hooks(*names: str) -> dict[str, Any]:
    """A webhook configuration, as it is applied."""
    return {"metadata": {"name": "hooks"}, "webhooks": [{"name": name, "clientConfig": {}} for name in names]}
