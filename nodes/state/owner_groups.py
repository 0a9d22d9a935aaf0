"""Groups by owner in the tables: which pods may have one, what their owners say, and so which pods do have one.

The pods tell the group, and the owner's object, its namespace and the configuration say whether it counts, and whether
it is a gang. All of them come and go in any order. See docs/decisions/0074.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Set
from typing import NamedTuple

from api.core import Pod
from api.foreign_owners import OwnerObject, OwningJob
from api.groups import PodGroup
from api.owner_annotations import ByOwner
from nodes.groups.forms import implied, may_ask, of_owner
from nodes.groups.keys import is_owned
from nodes.groups.owner_objects import OWNERS, OwnerFacts, by_owner_of, facts_of
from nodes.groups.owners import (
    JOB_SET,
    OwnedPod,
    OwnerName,
    job_set_named,
    job_set_of,
    owned_pod,
    owner_name,
)
from nodes.groups.registry import GroupKey, first_said

__all__ = ["OwnerGroups", "Told"]

Owner = tuple[str, str, str]
"""(source, namespace, name)."""


class Told(NamedTuple):
    """What a pod tells of its group."""

    said: GroupKey | None
    """The group that it names itself. It comes before that of its owner."""
    owned: OwnedPod | None
    namespace: str


class _Link(NamedTuple):
    """A Job between pods and their JobSet."""

    named: str
    """The JobSet that its pods name."""
    owner: OwnerName | None
    """The JobSet that controls it; None if none does."""

    def leads_to(self, owner: OwnerName) -> bool:
        """Whether this owner controls the Job."""
        its = self.owner
        return (
            its is not None
            and (its.source, its.name) == (owner.source, owner.name)
            and (owner.uid in ("", its.uid))
        )


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
        self._keys: dict[Owner, set[GroupKey]] = {}
        """The groups that pods tell, by owner."""
        self._links: dict[str, _Link] = {}
        """Jobs whose pods name a JobSet, by UID."""
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

    def note(self, row: int, told: Told) -> GroupKey | None:
        """The pod in this row tells this. Returns the group of its owner that is new because of it."""
        key = (told.namespace, told.owned.name) if told.owned is not None else None
        before = self._pods.get(row)
        if before is not None and (key is None or before[0] != key):
            self.forget(row)
        if key is None or told.owned is None:
            return None
        self._pods[row] = key, told.owned
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
        key = before[0]
        rows = self._rows[key]
        rows.discard(row)
        if not rows:
            del self._rows[key]
            keys = self._keys[_owner_of(key)]
            keys.discard(key)
            if not keys:
                del self._keys[_owner_of(key)]

    def rows(self, key: GroupKey) -> Mapping[int, GroupKey | None]:
        """The pods that may belong to the group: by row, the group if they do, as things are now."""
        return {
            row: key if self._counts(key, self._pods[row][1]) else None
            for row in sorted(self._rows.get(key, ()))
        }

    # ---- what owners and namespaces say. What changes is a set of groups.

    def upsert_owner(self, item: OwnerObject) -> Set[GroupKey]:
        """An owner's object exists and says this."""
        meta, kind = item.metadata, type(item)
        linked = self._link(item) if isinstance(item, OwningJob) else frozenset[GroupKey]()
        owner, facts = (OWNERS[kind].source, meta.namespace, meta.name), facts_of(item)
        if facts is None:
            return linked | self._forget_owner(owner)
        before = self._facts.get(owner)
        self._facts[owner] = facts
        return linked | self._groups_of(owner) if before != facts else linked

    def delete_owner(self, kind: type[OwnerObject], namespace: str, name: str) -> Set[GroupKey]:
        """An owner's object is gone. Its pods are still one group if it is of a kind that counts by default."""
        unlinked = self._unlink(namespace, name) if kind is OwningJob else frozenset[GroupKey]()
        return unlinked | self._forget_owner((OWNERS[kind].source, namespace, name))

    def _forget_owner(self, owner: Owner) -> Set[GroupKey]:
        return self._groups_of(owner) if self._facts.pop(owner, None) is not None else frozenset()

    def _link(self, job: OwningJob) -> Set[GroupKey]:
        """The Job exists, and a JobSet controls it or not."""
        meta, named = job.metadata, job_set_named(job)
        known = self._jobs.get((meta.namespace, meta.name))
        if not named:
            return self._unlink(meta.namespace, meta.name) if known is not None else frozenset()
        link = _Link(named, job_set_of(job))
        if known == meta.uid and self._links[meta.uid] == link:
            return frozenset()
        former = self._unlink(meta.namespace, meta.name)
        self._jobs[meta.namespace, meta.name], self._links[meta.uid] = meta.uid, link
        return former | self._groups_of((JOB_SET, meta.namespace, named))

    def _unlink(self, namespace: str, name: str) -> Set[GroupKey]:
        """The Job is gone, or its pods name no JobSet."""
        uid = self._jobs.pop((namespace, name), None)
        link = self._links.pop(uid, None) if uid is not None else None
        return self._groups_of((JOB_SET, namespace, link.named)) if link is not None else frozenset()

    def upsert_namespace(self, name: str, annotations: Mapping[str, str] | None) -> Set[GroupKey]:
        """A namespace exists and has these annotations; None: it is gone, or has none."""
        said, before = by_owner_of(annotations), self._namespaces.get(name)
        if said == before:
            return frozenset()
        if said is None:
            del self._namespaces[name]
        else:
            self._namespaces[name] = said
        return {key for key in self._rows if key[0] == name}

    def _groups_of(self, owner: Owner) -> Set[GroupKey]:
        return frozenset(self._keys.get(owner, ()))

    def _setting(self, namespace: str, facts: OwnerFacts | None) -> ByOwner:
        own = facts.by_owner if facts is not None else None
        return own or self._namespaces.get(namespace) or self._by_owner

    def _counts(self, key: GroupKey, owned: OwnedPod) -> bool:
        link = self._links.get(owned.job) if owned.job else None
        if link is not None and not link.leads_to(owner_name(key[1])):
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
