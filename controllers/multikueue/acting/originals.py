"""The Workloads and Jobs here as the API server has them: what is copied to clusters must be complete.

They are read when they are needed, and not kept: only the digest of a Workload's spec is.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from api.clock import Clock
from api.meta import ObjectMeta
from api.workloads import Workload
from controllers.multikueue.acting.shown import Shown
from controllers.multikueue.kinds.bodies import copy_body
from controllers.multikueue.life.digests import digest
from controllers.multikueue.life.seen import Mark
from kube.client import ApiClient, get_or_none
from quota.state.workloads import attempt_of

__all__ = ["GROUP_PATH", "JOB_PATH", "Originals", "WORKLOAD_PATH"]

WORKLOAD_PATH: Final = "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/workloads/{}"
GROUP_PATH: Final = "/apis/reprieve.dev/v1alpha1/namespaces/{}/podgroups/{}"
JOB_PATH: Final = "/apis/batch/v1/namespaces/{}/jobs/{}"
Json = dict[str, Any]
NOBODY: Final = Mark("", "", "")
MOST_KEPT: Final = 512
"""Objects that are kept as they were read, each until all acts of an attempt have used it."""
LONGEST_KEPT: Final = 32 * 1024
"""Bytes of one of them."""


class Originals:
    """In one term."""

    def __init__(self, client: ApiClient, clock: Clock) -> None:
        self._client = client
        self.shown: Final = Shown(clock)
        self._digests: dict[str, tuple[tuple[str, int, str], bytes]] = {}
        """By key of a Workload: its UID, generation and attempt, and the digest of the spec that copies get."""
        self._kept: dict[str, tuple[str, bytes]] = {}
        """By path: the attempt for which an object was read, and its JSON. The oldest goes first."""

    def digest(self, workload: Workload) -> bytes | None:
        """The digest of the spec that copies get; None if the Workload must be read first."""
        meta = workload.metadata
        state, found = self._digests.get(f"{meta.namespace}/{meta.name}", (None, None))
        return found if state == (meta.uid, meta.generation or 0, attempt_of(workload)) else None

    async def workload(self, meta: ObjectMeta, attempt: str) -> Json | None:
        """The Workload; None if it is gone, or another one has its name. Raises ApiError.

        `meta`: as it was seen last. It is read once for an attempt: its status may be older, but for the admission.
        """
        found = await self._read_once(WORKLOAD_PATH, meta, attempt)
        if found is None:
            return None
        generation = found["metadata"].get("generation", 0)
        copy = copy_body(found, NOBODY, "", has_gate=False)
        state = meta.uid, generation, attempt
        self._digests[f"{meta.namespace}/{meta.name}"] = state, digest(copy["spec"])
        return found

    async def template(self, meta: ObjectMeta, attempt: str) -> Json | None:
        """The Job as it is sent to clusters; None if it is gone, or another one has its name. Its status may be older.
        Raises ApiError."""
        return await self._read_once(JOB_PATH, meta, attempt)

    async def job(self, meta: ObjectMeta) -> Json | None:
        """The Job as it is now; None if it is gone, or another one has its name. Raises ApiError."""
        found = await self._read(JOB_PATH, meta.namespace, meta.name)
        return found if found is not None and found["metadata"]["uid"] == meta.uid else None

    async def group(self, namespace: str, name: str) -> Json | None:
        """The PodGroup of this name, or None. Raises ApiError."""
        return await self._read(GROUP_PATH, namespace, name)

    async def _read_once(self, path: str, meta: ObjectMeta, attempt: str) -> Json | None:
        """As it was read before for this attempt, if nothing has changed since but its status."""
        where = path.format(meta.namespace, meta.name)
        before, body = self._kept.get(where, ("", None))
        found: Json
        if body is not None and before == attempt and _is_same(found := orjson.loads(body), meta):
            return found
        self._kept.pop(where, None)
        body = await get_or_none(self._client, where)
        if body is None:
            return None
        found = orjson.loads(body)
        if found["metadata"]["uid"] != meta.uid:
            return None
        if len(body) <= LONGEST_KEPT:
            self._kept[where] = attempt, body
            if len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return found

    async def _read(self, path: str, namespace: str, name: str) -> Json | None:
        body = await get_or_none(self._client, path.format(namespace, name))
        found: Json | None = orjson.loads(body) if body is not None else None
        return found

    def gone(self, key: str) -> None:
        """There is no Workload of this key any longer."""
        self._digests.pop(key, None)
        self._kept.pop(WORKLOAD_PATH.format(*key.split("/", 1)), None)
        self.shown.gone(key)


def _is_same(found: Json, meta: ObjectMeta) -> bool:
    """Whether the object has the same spec, labels and annotations as when it was seen with this metadata."""
    kept = found["metadata"]
    return (kept["uid"], kept.get("generation", 0)) == (meta.uid, meta.generation or 0) and (
        kept.get("labels") or {},
        kept.get("annotations") or {},
    ) == (meta.labels or {}, meta.annotations or {})
