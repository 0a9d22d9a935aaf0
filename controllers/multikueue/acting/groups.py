"""The PodGroup that a Job's template names goes with the Job. It belongs to the copy there, and is deleted with it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import orjson

from api.kueue import API_VERSION
from controllers.multikueue.acting.originals import GROUP_PATH, Originals
from controllers.multikueue.clusters.connection import Connection
from controllers.multikueue.clusters.objects import metadata_in
from controllers.multikueue.kinds.groups import group_body, group_of
from controllers.multikueue.life.seen import Mark
from kube.client import get_or_none
from kube.errors import ApiError

__all__ = ["Groups"]

DRY_RUN: Final = {"dryRun": "All"}


class Groups:
    """In one term."""

    def __init__(self, originals: Originals, origin: str) -> None:
        self._originals, self._origin = originals, origin

    async def send(
        self, job: dict[str, Any], mark: Mark, key: str, cluster: Connection, *, is_trial: bool
    ) -> None:
        """Create the PodGroup there that the Job needs, if it needs one. `key`: of the Workload. `is_trial`: as a dry
        run. Raises ApiError: NotFound also if the cluster does not serve the kind."""
        namespace, name = job["metadata"]["namespace"], group_of(job)
        if not name:
            return
        found = await self._originals.group(namespace, name)
        copy = cluster.copy(key)
        if found is None or copy is None:
            return  # its pods are no gang here either
        body = group_body(found, mark, self._origin)
        owner = {"apiVersion": API_VERSION, "kind": "Workload", "name": copy.name, "uid": copy.uid}
        body["metadata"]["ownerReferences"] = [owner]
        path = GROUP_PATH.format(namespace, name)
        try:
            await cluster.sender.send(
                "PodGroup",
                "POST",
                path.rpartition("/")[0],
                query=DRY_RUN if is_trial else None,
                body=orjson.dumps(body),
            )
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT or not await _is_of(path, copy.uid, cluster):
                raise


async def _is_of(path: str, uid: str, cluster: Connection) -> bool:
    """Whether the PodGroup there belongs to the copy of this UID: an attempt without an answer has made it."""
    answer = await get_or_none(cluster.client, path)
    owners = metadata_in(answer).owner_references or () if answer is not None else ()
    return any(each.uid == uid for each in owners)
