"""An API server that is a few dictionaries, for unit tests of what writes: tests/e2e has a real one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from api.times import rfc3339
from kube.client import JSON, MERGE_PATCH
from kube.errors import ApiError
from tests.kit.clock import ManualClock

__all__ = ["Api", "Written"]

Object = dict[str, Any]

PATH: Final = re.compile(
    r"(/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/[^/]+)?(/[^/]+)(?:/([^/]+))?(?:/status)?"
)
"""(group and version, plural, name) of the path of an object, of a collection or of a status."""
REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
DRY_RUN: Final = "dryRun"
EVICTION: Final = "/eviction"
"""Of a pod. No budget is looked at."""
PAGE: Final = 2
"""Objects in one answer to a list, however many were asked for."""


class Written(NamedTuple):
    """A request that changed something."""

    method: str
    path: str
    body: Any


class Api:
    """An `ApiClient` that keeps objects by collection and name; a name is there once, in whichever namespace.

    A kind that no object was ever put of is not served (404).
    A dry run changes nothing. Merge patches replace lists; strategic merge patches and
    applies merge them by `name` or `type`, and `$patch: delete` removes an entry.
    Every write that changes something gives a new resource version. A write that names another version is a
    conflict (409), and a deletion that names another version or UID. An object with finalizers stays until they are
    removed.
    """

    cluster = ""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.written: list[Written] = []
        self.refuse: Callable[[str, str], ApiError | None] = lambda _method, _path: None
        """Asked with method and path before every request: the error to answer with. `DELETE dry run` is a method.
        So is `EVICT`, of the pod at the path."""
        self.may: Callable[[str], bool] = lambda _what: True
        """Whether we have a right: `patch pods/status`."""
        self._served: dict[str, dict[str, Object]] = {}
        self._version = 0
        self._rest: dict[str, list[Object]] = {}
        """What is left of a list, by the token of its next page."""

    def of(self, path: str) -> dict[str, Object]:
        """The objects of a collection by name. The kind is served from now on."""
        return self._served.setdefault(_split(path)[0], {})

    def put(self, path: str, *values: Object) -> None:
        """Have these objects in the collection."""
        for value in values:
            self.of(path)[value["metadata"]["name"]] = value
            self._touch(value["metadata"])

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        **_: object,
    ) -> bytes:
        """As ApiClient."""
        await asyncio.sleep(0)
        value = orjson.loads(body) if body else {}
        asked = method
        if path.endswith(EVICTION):
            asked, method, path, value = (
                "EVICT",
                "DELETE",
                path.removesuffix(EVICTION),
                value["deleteOptions"],
            )
        is_dry_run = DRY_RUN in (query or {}) or DRY_RUN in value
        if error := self.refuse(f"{asked} dry run" if is_dry_run else asked, path):
            raise error
        if path == REVIEWS:
            asked_for = value["spec"]["resourceAttributes"]
            resource = "/".join(filter(None, (asked_for["resource"], asked_for.get("subresource"))))
            return orjson.dumps({"status": {"allowed": self.may(f"{asked_for['verb']} {resource}")}})
        collection, name = _split(path)
        if method == "POST":
            answer = self._create(path, value, keeps=not is_dry_run)
        elif collection not in self._served or (name and name not in self.of(path)):
            raise ApiError(404, "NotFound", path)
        elif not name:
            return orjson.dumps(self._list(path, query or {}))
        else:
            answer = self.of(path)[name]
        if method == "GET":
            return orjson.dumps(answer)
        _check(path, answer["metadata"], value if isinstance(value, dict) else {})
        if is_dry_run:
            return orjson.dumps(answer)
        before = orjson.dumps(answer)
        changed, meta = value.get("metadata", {}) if isinstance(value, dict) else {}, answer["metadata"]
        if isinstance(value, list):
            _apply(answer, value)
        elif method == "PATCH":
            _merge(answer, value, by_key=content_type != MERGE_PATCH)
        elif method == "PUT":
            answer = self.of(path)[name] = {**value, "metadata": {**meta, **changed}}
            meta = answer["metadata"]
        elif method == "DELETE":
            meta["deletionTimestamp"] = rfc3339(self.clock.wall())
        if method == "POST" or orjson.dumps(answer) != before:
            self._touch(meta)
        over = meta.get("deletionTimestamp") and (
            method == "DELETE" or isinstance(value, list) or "finalizers" in changed
        )
        if over and not meta.get("finalizers"):
            del self.of(path)[name]
        self.wrote(Written(method, path, value))
        return orjson.dumps(answer)

    def wrote(self, written: Written) -> None:
        """Note what was written."""
        self.written.append(written)

    def _create(self, path: str, value: Object, *, keeps: bool) -> Object:
        name = value["metadata"]["name"]
        if name in self.of(path):
            raise ApiError(409, "AlreadyExists", path)
        stamp = rfc3339(self.clock.wall())
        value["metadata"] |= {"creationTimestamp": stamp, "uid": f"uid-{name}-{self._version}"}
        if keeps:
            self.of(path)[name] = value
        return value

    def _list(self, path: str, query: Mapping[str, str]) -> Object:
        field, _, wanted = query.get("fieldSelector", "").partition("=")
        assert field in ("", "metadata.name", "spec.nodeName")
        items = list(self.of(path).values())
        if field:
            parent, name = field.split(".")
            items = [each for each in items if each[parent].get(name, "") == wanted]
        label, _, value = query.get("labelSelector", "").partition("=")
        if label.startswith("!"):
            items = [each for each in items if label[1:] not in (each["metadata"].get("labels") or {})]
        elif label:
            items = [each for each in items if (each["metadata"].get("labels") or {}).get(label) == value]
        items = self._rest.get(query.get("continue", ""), items)
        more = self.next_version() if len(items) > PAGE else ""
        if more:  # later pages are of the moment of the first one
            self._rest[more] = items[PAGE:]
        return {"metadata": {"continue": more}, "items": items[:PAGE]}

    def next_version(self) -> str:
        """A resource version that is newer than all before."""
        self._version += 1
        return str(self._version)

    def _touch(self, meta: Object) -> None:
        self._version = max(self._version, int(meta.get("resourceVersion") or 0))
        meta["resourceVersion"] = self.next_version()


def _split(path: str) -> tuple[str, str]:
    """(collection over all namespaces, name or nothing)."""
    found = PATH.fullmatch(path)
    assert found, path
    return found[1] + found[2], found[3] or ""


def _check(path: str, meta: Object, value: Object) -> None:
    """The conditions of a patch or a deletion."""
    changed, wanted = value.get("metadata", {}), value.get("preconditions", {})
    if changed.get("uid") not in (None, meta.get("uid")):
        raise ApiError(422, "Invalid", f"{path}: metadata.uid: field is immutable")
    if wanted.get("uid") not in (None, meta.get("uid")):
        raise ApiError(409, "Conflict", f"{path}: the UID is another")
    for version in (changed.get("resourceVersion"), wanted.get("resourceVersion")):
        if version not in (None, meta.get("resourceVersion")):
            raise ApiError(409, "Conflict", f"{path}: the resourceVersion is another")


def _apply(stored: Object, patch: list[Object]) -> None:
    """A JSON patch of the operations test, add and remove. Tests come first, so that a patch that fails changes
    nothing."""
    for operation in sorted(patch, key=lambda each: each["op"] != "test"):
        *parents, last = operation["path"].split("/")[1:]
        place: Any = stored
        for parent in parents:
            place = place.get(parent) or {}
        is_list = isinstance(place, list)
        there = (
            (place[int(last) :] or [None])[0]
            if is_list and last != "-"
            else None
            if is_list
            else place.get(last)
        )
        if operation["op"] == "test" and there != operation["value"]:
            raise ApiError(422, "Invalid", f"testing value {operation['path']} failed")
        if operation["op"] == "add" and is_list:
            place.append(operation["value"])
        elif operation["op"] == "add":
            place[last] = operation["value"]
        elif operation["op"] == "remove" and there is not None:
            del place[int(last) if is_list else last]


def _merge(stored: Object, patch: Object, *, by_key: bool) -> None:
    for name, value in patch.items():
        if value is None:
            stored.pop(name, None)
        elif isinstance(value, dict):
            stored[name] = stored.get(name) or {}
            _merge(stored[name], value, by_key=by_key)
        elif by_key and isinstance(value, list):
            stored[name] = _merged(stored.get(name) or [], value)
        else:
            stored[name] = value


def _merged(stored: list[Object], patch: list[Object]) -> list[Object]:
    by_key = {_key(each): each for each in stored}
    for each in patch:
        if each.get("$patch") == "delete":
            by_key.pop(_key(each), None)
        else:
            _merge(by_key.setdefault(_key(each), {}), each, by_key=True)
    return list(by_key.values())


def _key(value: Object) -> str:
    key: str = value.get("name") or value["type"]
    return key
