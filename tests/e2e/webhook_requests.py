"""Requests of the conformance cases, sent to a real API server as dry runs, and what it answers."""

from __future__ import annotations

import base64
import copy
import http.client
import itertools
import json
import re
import weakref
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, Final

from hack.controlplane.client import RESOURCES, ApiError, Client, path_of
from hack.controlplane.components import HOST
from hack.controlplane.plane import ControlPlane
from schema import KNOWN
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.webhooks.cases import Case, Cause

__all__ = ["Answer", "Sender"]

Json = dict[str, Any]

STRICT: Final = "dryRun=All&fieldValidation=Strict"
UNKNOWN: Final = re.compile(r'unknown field "([^"]*)"')


class Answer:
    """What an API server said of a request."""

    def __init__(self, error: ApiError | None, warnings: Sequence[str] = ()) -> None:
        self.allowed = error is None
        self.warnings = tuple(warnings)
        self.status = error.status if error else 200
        self.text = str(error or "")
        self.causes = sorted(_causes(error), key=lambda cause: (cause.field, cause.type)) if error else []

    def fields(self) -> set[str]:
        """The fields at fault."""
        return {cause.field for cause in self.causes if cause.is_field}


class Sender:
    """Sends cases to the API server of a plane of its own: what is stored is written to etcd, whatever it is."""

    def __init__(self, plane: ControlPlane, client: Client | None = None) -> None:
        """`client`: whose requests they are; the administrator's, by default."""
        self._client: Client = client or plane.client
        self._etcd = http.client.HTTPConnection(HOST, plane.layout.port["etcd"], timeout=PATIENCE_SECONDS)
        weakref.finalize(self, self._etcd.close)
        self._numbers: Iterator[int] = itertools.count(1)

    def send(self, case: Case) -> Answer:
        """The verdict on one case; nothing is left of it."""
        body = copy.deepcopy(case.object)
        path = path_of(KNOWN[case.kind].api_version, case.kind, "default")
        if case.old_object is None:
            return self._request("POST", f"{path}?{STRICT}", body)
        name = case.old_object["metadata"]["name"]
        path = f"{path}/{name}"
        body["metadata"]["resourceVersion"] = self.store(case.kind, case.old_object)
        try:
            return self._request("PUT", f"{path}/{case.subresource}".rstrip("/") + f"?{STRICT}", body)
        finally:
            self.remove(case.kind, name)

    def store(self, kind: str, stored: Json) -> str:
        """Put an object into etcd as it is; its resourceVersion."""
        stored = copy.deepcopy(stored)
        number = next(self._numbers)
        stored["metadata"] |= {
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
        }
        pair = {"key": _key(kind, stored["metadata"]["name"]), "value": _base64(json.dumps(stored))}
        return str(self._tell_etcd("put", pair)["header"]["revision"])

    def remove(self, kind: str, name: str) -> None:
        """Take an object out of etcd, whatever it is."""
        self._tell_etcd("deleterange", {"key": _key(kind, name)})

    def _tell_etcd(self, verb: str, body: Json) -> Json:
        self._etcd.request("POST", f"/v3/kv/{verb}", json.dumps(body))
        with self._etcd.getresponse() as response:
            answer: Json = json.load(response)
        assert response.status == HTTPStatus.OK, answer
        return answer

    def _request(self, method: str, path: str, body: Json) -> Answer:
        known = len(self._client.warnings)
        error = None
        try:
            self._client.request(method, path, body)
        except ApiError as refusal:
            error = refusal
        return Answer(error, self._client.warnings[known:])


def _causes(error: ApiError) -> Iterator[Cause]:
    for cause in error.causes:
        yield Cause(cause.get("field", ""), cause.get("reason", ""))
    if not error.causes:
        yield from (Cause(field, "UnknownField") for field in UNKNOWN.findall(str(error)))


def _key(kind: str, name: str) -> str:
    """Where the API server keeps an object, as etcd wants it."""
    version = KNOWN[kind].api_version
    plural, namespaced = RESOURCES[version, kind]
    place = "default/" if namespaced else ""
    return _base64(f"/registry/{version.partition('/')[0]}/{plural}/{place}{name}")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
