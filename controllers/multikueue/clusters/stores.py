"""What one connection has seen of copies, their Jobs and their costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from sys import intern
from typing import Final

from api.clock import Clock
from controllers.multikueue.clusters.objects import (
    CopyObject,
    CostObject,
    JobObject,
    copy_of,
    cost_of,
    job_of,
)
from controllers.multikueue.life.seen import Copy, Cost, RemoteJob

__all__ = ["Copies", "Costs", "RemoteJobs"]

Told = Callable[[str], None]
"""Gets a key, `namespace/name`."""
NO_JOBS: Final[frozenset[str]] = frozenset()


class Copies:
    """A store of the copies of Workloads. `told` gets the key of each one that changes."""

    def __init__(self, told: Told) -> None:
        self._copies: dict[str, Copy] = {}
        self._told = told

    def get(self, key: str) -> Copy | None:
        """The copy of that key."""
        return self._copies.get(key)

    def keys(self) -> Iterator[str]:
        """The keys of all copies."""
        return iter(self._copies)

    def __iter__(self) -> Iterator[Copy]:
        return iter(self._copies.values())

    def __len__(self) -> int:
        return len(self._copies)

    def upsert(self, item: CopyObject) -> bool:
        """See `runtime.mirror.views.Store`."""
        key = _key(item.metadata.namespace, item.metadata.name)
        self._copies[key] = copy_of(item)
        self._told(key)
        return False

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        key = _key(namespace, name)
        if self._copies.pop(key, None) is not None:
            self._told(key)
        return False


class RemoteJobs:
    """A store of the Jobs of copies. `told` gets the key of the Workload that a changed Job uses or used, `told_job`
    the key of the Job."""

    def __init__(self, told: Told, told_job: Told) -> None:
        self._jobs: dict[str, RemoteJob] = {}
        self._users: dict[str, set[str]] = {}
        """Keys of Jobs, by the key of the Workload that they use."""
        self._told, self._told_job = told, told_job
        self.size = 0
        """Bytes of all statuses."""

    def find(self, key: str, job_name: str) -> RemoteJob | None:
        """The Job that uses the Workload of that key, or else the one of that name in its namespace.

        If several use the Workload, the one of that name comes first, then the first name.
        """
        named = f"{key.partition('/')[0]}/{job_name}"
        users = self._users.get(key, NO_JOBS)
        if users and named not in users:
            named = min(users)
        return self._jobs.get(named)

    def keys(self) -> Iterator[str]:
        """The keys of all Jobs."""
        return iter(self._jobs)

    def used(self) -> Iterator[str]:
        """The keys of all Workloads that Jobs use."""
        return iter(self._users)

    def __iter__(self) -> Iterator[RemoteJob]:
        return iter(self._jobs.values())

    def __len__(self) -> int:
        return len(self._jobs)

    def upsert(self, item: JobObject) -> bool:
        """See `runtime.mirror.views.Store`."""
        key = _key(item.metadata.namespace, item.metadata.name)
        job = job_of(item)
        self._set(key, job)
        return False

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        self._set(_key(namespace, name), None)
        return False

    def _set(self, key: str, job: RemoteJob | None) -> None:
        before = self._jobs.pop(key, None)
        self.size += (len(job.raw_status) if job is not None else 0) - (
            len(before.raw_status) if before is not None else 0
        )
        changed = dict.fromkeys(_used(each) for each in (before, job) if each is not None and each.workload)
        if before is not None and before.workload:
            users = self._users[_used(before)]
            users.discard(key)
            if not users:
                del self._users[_used(before)]
        if job is not None:
            self._jobs[key] = job
            if job.workload:
                self._users.setdefault(_used(job), set()).add(key)
        for used in changed:
            self._told(used)
        if job is not None or before is not None:
            self._told_job(key)


class Costs:
    """A store of what preemptions for copies would cost. `told` gets the key of each Workload whose cost changes."""

    def __init__(self, told: Told, clock: Clock) -> None:
        self._costs: dict[str, Cost] = {}
        self._plans: dict[str, tuple[str, str, int]] = {}
        """By the plan's own key: its Workload's key, its UID, and when it was seen first."""
        self._newest: dict[str, str] = {}
        """By the key of a Workload: the key of the plan that its cost is from."""
        self._told, self._clock = told, clock

    def get(self, key: str) -> Cost | None:
        """The cost for the Workload of that key."""
        return self._costs.get(key)

    def keys(self) -> Iterator[str]:
        """The keys of all Workloads with a cost."""
        return iter(self._costs)

    def __len__(self) -> int:
        return len(self._costs)

    def upsert(self, item: CostObject) -> bool:
        """See `runtime.mirror.views.Store`."""
        meta, workload = item.metadata, item.key
        plan = _key(meta.namespace, meta.name)
        before, uid, seen = self._plans.get(plan, ("", "", 0))
        if before not in ("", workload):
            self.delete(meta.namespace, meta.name)  # no honest cluster changes a spec
        if uid != meta.uid:
            seen = round(self._clock.wall() * 1_000_000)
        cost = cost_of(item, seen)
        if cost is None:
            return self.delete(meta.namespace, meta.name)
        self._plans[plan] = (workload, meta.uid, seen)
        self._newest[workload] = plan
        if self._costs.get(workload) != cost:
            self._costs[workload] = cost
            self._told(workload)
        return False

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`. Another plan of the Workload may have come before this one goes."""
        plan = _key(namespace, name)
        workload, _, _ = self._plans.pop(plan, ("", "", 0))
        if workload and self._newest.get(workload) == plan:
            del self._newest[workload], self._costs[workload]
            self._told(workload)
        return False


def _key(namespace: str, name: str) -> str:
    return intern(f"{namespace}/{name}")


def _used(job: RemoteJob) -> str:
    return _key(job.namespace, job.workload)
