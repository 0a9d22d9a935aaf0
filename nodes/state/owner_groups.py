"""Groups by owner in the tables: which pods may have one, what their owners say, and so which pods do have one.

The pods tell the group, and the owner's object, its namespace and the configuration say whether it counts, and whether
it is a gang. All of them come and go in any order. See docs/decisions/0074.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Set
from typing import Final, NamedTuple, TypeVar

from api.core import Pod
from api.foreign_owners import OwnerObject, OwningJob
from api.groups import PodGroup
from api.owner_annotations import ByOwner
from nodes.groups.forms import implied, may_ask, of_owner
from nodes.groups.keys import is_owned, source_of
from nodes.groups.owner_objects import OWNERS, OwnerFacts, by_owner_of, facts_of
from nodes.groups.owners import (
    OwnedPod,
    OwnerName,
    job_set_named,
    job_set_of,
    owned_pod,
    owner_name,
)
from nodes.groups.registry import GroupKey, first_said

__all__ = ["Moves", "OwnerGroups", "Told"]

K = TypeVar("K")
V = TypeVar("V")

JOB: Final = OWNERS[OwningJob].source

Owner = tuple[str, str, str]
"""(source, namespace, name)."""


class Told(NamedTuple):
    """What a pod tells of its group."""

    said: GroupKey | None
    """The group that it names itself. It comes before that of its owner."""
    owned: OwnedPod | None
    namespace: str


class Moves(NamedTuple):
    """What is different because an owner, a Job or a namespace says something else."""

    groups: Set[GroupKey] = frozenset()
    """Their forms may be different."""
    rows: Set[int] = frozenset()
    """Pods that may belong to another group than before."""


class OwnerGroups:
    """What owners and namespaces say, and the pods (rows) that may belong to groups of owners."""

    def __init__(self, by_owner: ByOwner) -> None:
        """`by_owner`: what the configuration says."""
        self._by_owner = by_owner
        self._facts: dict[Owner, OwnerFacts] = {}
        self._namespaces: dict[str, ByOwner] = {}
        self._pods: dict[int, tuple[GroupKey, OwnedPod]] = {}
        """Pods that may belong to the group of their owner, by row."""
        self._rows: dict[GroupKey, set[int]] = {}
        """The same by group."""
        self._of_job: dict[str, set[int]] = {}
        """Those of them that a Job leads to their owner, by the UID of the Job."""
        self._keys: dict[Owner, set[GroupKey]] = {}
        """The groups that pods tell, by owner."""
        self._links: dict[str, OwnerName | None] = {}
        """The JobSets that control the Jobs whose pods name one, by the UID of the Job; None if none does."""
        self._jobs: dict[tuple[str, str], str] = {}
        """Their UIDs, by namespace and name."""

    # ---- pods

    def told(self, pod: Pod) -> Told:
        """What the pod tells."""
        namespace, said = sys.intern(pod.metadata.namespace), first_said(pod)
        if said is not None:
            return Told((namespace, said), None, namespace)
        return Told(None, owned_pod(pod), namespace)

    def unit(self, told: Told) -> GroupKey | None:
        """The group with which such a pod may be evicted, whether or not its object exists."""
        if told.owned is None:
            return told.said
        key = (told.namespace, told.owned.name)
        return key if self._counts(key, told.owned) else None

    def unit_of(self, pod: Pod) -> GroupKey | None:
        """The group with which the pod may be evicted, whether or not its object exists; None if it has none."""
        return self.unit(self.told(pod))

    def gang_of(self, pod: Pod) -> GroupKey | None:
        """The group with which the pod is scheduled if it is a gang; None if no gang of its kind is planned for.

        Whether it is a gang, its object says.
        """
        key = self.unit_of(pod)
        return key if key is not None and may_ask(key[1]) else None

    def succeeded_of(self, pod: Pod) -> GroupKey | None:
        """The gang for which the pod counts once it has Succeeded. The number of a Job leaves such pods out already."""
        key = self.gang_of(pod)
        return key if key is None or source_of(key[1]) != JOB else None

    def note(self, row: int, told: Told) -> GroupKey | None:
        """The pod in this row tells this. Returns the group of its owner that is new because of it."""
        key = (told.namespace, told.owned.name) if told.owned is not None else None
        before = self._pods.get(row)
        if before is not None and (key is None or before != (key, told.owned)):
            self.forget(row)
        if key is None or told.owned is None:
            return None
        self._pods[row] = key, told.owned
        if told.owned.job:
            self._of_job.setdefault(told.owned.job, set()).add(row)
        rows = self._rows.get(key)
        if rows is not None:
            rows.add(row)
            return None
        self._rows[key] = {row}
        self._keys.setdefault(_owner_of(key), set()).add(key)
        return key

    def forget(self, row: int) -> None:
        """The pod in this row is gone, or may not belong to the group of an owner any longer."""
        before = self._pods.pop(row, None)
        if before is None:
            return
        key, owned = before
        _discard(self._of_job, owned.job, row)
        _discard(self._rows, key, row)
        if key not in self._rows:
            _discard(self._keys, _owner_of(key), key)

    def group_in(self, row: int) -> GroupKey | None:
        """The group of its owner to which the pod in this row belongs, as things are now; None if it has none."""
        pod = self._pods.get(row)
        return pod[0] if pod is not None and self._counts(*pod) else None

    # ---- what owners and namespaces say

    def upsert_owner(self, item: OwnerObject) -> Moves:
        """An owner's object exists and says this."""
        meta, kind = item.metadata, type(item)
        linked = self._link(item) if isinstance(item, OwningJob) else frozenset[int]()
        return self._know((OWNERS[kind].source, meta.namespace, meta.name), facts_of(item), linked)

    def delete_owner(self, kind: type[OwnerObject], namespace: str, name: str) -> Moves:
        """An owner's object is gone. Its pods are still one group if it is of a kind that counts by default."""
        unlinked = self._unlink(namespace, name) if kind is OwningJob else frozenset[int]()
        return self._know((OWNERS[kind].source, namespace, name), None, unlinked)

    def _know(self, owner: Owner, facts: OwnerFacts | None, linked: Set[int]) -> Moves:
        """The owner says this; None: nothing, or it is gone. Of what it says, little moves pods."""
        before = self._facts.get(owner)
        if before == facts:
            return Moves(rows=linked)
        if facts is not None:
            self._facts[owner] = facts
        else:
            del self._facts[owner]
        groups = frozenset(self._keys.get(owner, ()))
        return Moves(
            groups, linked if _placing(before) == _placing(facts) else linked | self._rows_of(groups)
        )

    def _rows_of(self, groups: Set[GroupKey]) -> Set[int]:
        return frozenset(row for key in groups for row in self._rows[key])

    def _link(self, job: OwningJob) -> Set[int]:
        """The Job exists, and a JobSet controls it or not."""
        meta, named = job.metadata, job_set_named(job)
        known = self._jobs.get((meta.namespace, meta.name))
        if not named:
            return self._unlink(meta.namespace, meta.name) if known is not None else frozenset()
        link = job_set_of(job)
        if known == meta.uid and self._links[meta.uid] == link:
            return frozenset()
        former = self._unlink(meta.namespace, meta.name)
        self._jobs[meta.namespace, meta.name], self._links[meta.uid] = meta.uid, link
        return former | self._of_job.get(meta.uid, frozenset())

    def _unlink(self, namespace: str, name: str) -> Set[int]:
        """The Job is gone, or its pods name no JobSet."""
        uid = self._jobs.pop((namespace, name), None)
        if uid is None:
            return frozenset()
        del self._links[uid]
        return frozenset(self._of_job.get(uid, ()))

    def upsert_namespace(self, name: str, annotations: Mapping[str, str] | None) -> Moves:
        """A namespace exists and has these annotations; None: it is gone, or has none."""
        said, before = by_owner_of(annotations), self._namespaces.get(name)
        if said == before:
            return Moves()
        if said is None:
            del self._namespaces[name]
        else:
            self._namespaces[name] = said
        groups = {key for key in self._rows if key[0] == name}
        stays = (said or self._by_owner) != "Off" and (before or self._by_owner) != "Off"
        return Moves(groups, frozenset() if stays else self._rows_of(groups))

    def set_default(self, by_owner: ByOwner) -> Moves:
        """The configuration says this from now on."""
        before, self._by_owner = self._by_owner, by_owner
        if before == by_owner:
            return Moves()
        groups = {key for key in self._rows if key[0] not in self._namespaces}
        return Moves(groups, self._rows_of(groups) if "Off" in (before, by_owner) else frozenset())

    def _setting(self, namespace: str, facts: OwnerFacts | None) -> ByOwner:
        own = facts.by_owner if facts is not None else None
        return own or self._namespaces.get(namespace) or self._by_owner

    def _counts(self, key: GroupKey, owned: OwnedPod) -> bool:
        if owned.job in self._links and not _is(self._links[owned.job], owner_name(key[1])):
            return False  # the labels lie
        facts = self._find(key)
        return owned.counts(self._setting(key[0], facts), facts.said if facts is not None else None)

    def _find(self, key: GroupKey) -> OwnerFacts | None:
        """What the group's owner says; None if its object is not known, or another one has its name now."""
        owner = owner_name(key[1])
        facts = self._facts.get((owner.source, key[0], owner.name))
        return facts if facts is not None and owner.uid in ("", facts.metadata.uid) else None

    def awaits_owner(self, key: GroupKey) -> str:
        """The source of the owner whose object would make this group a gang; empty if it is known, or makes none."""
        if not is_owned(key[1]) or self._find(key) is not None or self._setting(key[0], None) != "Gangs":
            return ""
        return owner_name(key[1]).source

    # ---- forms

    def form(self, namespace: str, name: str) -> PodGroup:
        """The internal form of a group of another kind that has no object of its own."""
        facts = self._find((namespace, name)) if is_owned(name) else None
        if facts is None:
            return implied(namespace, name)
        is_gang = self._setting(namespace, facts) == "Gangs"
        return of_owner(facts.reference, facts.metadata, name, facts.minimum if is_gang else 0)


def _owner_of(key: GroupKey) -> Owner:
    owner = owner_name(key[1])
    return owner.source, key[0], owner.name


def _is(known: OwnerName | None, told: OwnerName) -> bool:
    """Whether this owner is the one that pods tell."""
    if known is None or (known.source, known.name) != (told.source, told.name):
        return False
    return told.uid in ("", known.uid)


def _placing(facts: OwnerFacts | None) -> tuple[str, bool | None, ByOwner | None] | None:
    """What of an owner's facts decides whether pods belong to its group; None if nothing does."""
    if facts is None or (facts.said is None and facts.by_owner is None):
        return None
    return facts.metadata.uid, facts.said, facts.by_owner


def _discard(sets: dict[K, set[V]], key: K, value: V) -> None:
    """Take a value out of one of the sets, if it is there. Empty sets are not kept."""
    found = sets.get(key)
    if found is not None:
        found.discard(value)
        if not found:
            del sets[key]
