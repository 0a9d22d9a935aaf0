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
        found, _ = await self._read(JOB_PATH.format(meta.namespace, meta.name), meta.uid)
        return found

    async def group(self, namespace: str, name: str) -> Json | None:
        """The PodGroup of this name, or None. Raises ApiError."""
        found, _ = await self._read(GROUP_PATH.format(namespace, name))
        return found

    async def _read_once(self, path: str, meta: ObjectMeta, attempt: str) -> Json | None:
        """As it was read before for this attempt, if nothing has changed since but its status."""
        where = path.format(meta.namespace, meta.name)
        before, kept = self._kept.get(where, ("", b""))
        same: Json
        if kept and before == attempt and _is_same(same := orjson.loads(kept), meta):
            return same
        self._kept.pop(where, None)
        found, body = await self._read(where, meta.uid)
        if found is not None and len(body) <= LONGEST_KEPT:
            self._kept[where] = attempt, body
            if len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return found

    async def _read(self, path: str, uid: str = "") -> tuple[Json | None, bytes]:
        """The object at the path, and its JSON; None if it is gone, or is another one than that of the UID."""
        body = await get_or_none(self._client, path) or b""
        found: Json | None = orjson.loads(body) if body else None
        is_other = found is not None and uid and found["metadata"]["uid"] != uid
        return (None, b"") if is_other else (found, body)

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
