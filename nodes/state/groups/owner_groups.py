"""Groups by owner in the tables: which pods may have one, what their owners say, and so which pods do have one.

The pods tell the group, and the owner's object, its namespace and the configuration say whether it counts, and whether
it is a gang. A group of kube-scheduler's own kind comes before it, unless the group's object says that it is basic. All
of them come and go in any order. See docs/decisions/0074 and 0104.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Set
from typing import Final, NamedTuple, TypeVar

from api.core import Pod
from api.foreign_owners import OwnerObject, OwningJob, OwningStatefulSet
from api.groups import PodGroup
from api.owner_annotations import ByOwner
from nodes.groups.forms import ALL_PREEMPTING, PREEMPTING, Sources, implied, is_basic, may_ask, of_owner
from nodes.groups.keys import NATIVE, is_owned, named_by, source_of
from nodes.groups.kinds.table import OWNERS
from nodes.groups.owner_objects import OwnerFacts, by_owner_of, facts_of
from nodes.groups.owners import OwnedPod, OwnerName, owned_pod, owner_name
from nodes.groups.registry import GroupKey, first_said, second_said
from nodes.state.groups.chains import UNKNOWN, Chains, ControllerOf

__all__ = ["NO_MOVES", "Moves", "OwnerGroups", "Told"]

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
    native: GroupKey | None = None
    """The group of kube-scheduler's own kind. It comes before both, unless it is basic."""


class Moves(NamedTuple):
    """What is different because an owner, an object on the way to it, or a namespace says something else."""

    groups: Set[GroupKey] = frozenset()
    """Their forms may be different."""
    rows: Set[int] = frozenset()
    """Pods that may belong to another group than before."""
    controllers: Set[str] = frozenset()
    """Controllers (UIDs) that lead to another owner than before."""
    natives: Set[GroupKey] = frozenset()
    """Groups of kube-scheduler's own kind that are basic now, or no longer."""


NO_MOVES: Final = Moves()


class OwnerGroups:
    """What owners and namespaces say, and the pods (rows) that may belong to groups of owners."""

    def __init__(
        self,
        by_owner: ByOwner,
        controller_of: ControllerOf = lambda _: None,
        preempting: Sources = PREEMPTING,
    ) -> None:
        """`by_owner`: what the configuration says. `controller_of`: what controls the pods that are known.

        `preempting`: sources whose gangs ask for room as one.
        """
        self._by_owner, self._preempting = by_owner, preempting
        self._chains = Chains(controller_of)
        self._facts: dict[Owner, OwnerFacts] = {}
        self._namespaces: dict[str, ByOwner] = {}
        self._pods: dict[int, tuple[GroupKey, OwnedPod]] = {}
        """Pods that may belong to the group of their owner, by row."""
        self._rows: dict[GroupKey, set[int]] = {}
        """The same by group."""
        self._keys: dict[Owner, set[GroupKey]] = {}
        """The groups that pods tell, by owner."""
        self._basic: set[GroupKey] = set()
        """Groups of kube-scheduler's own kind that exist and are basic."""
        self._native: dict[int, Told] = {}
        """Pods that name a group of kube-scheduler's own kind, and may belong to another one, by row."""
        self._beside: dict[GroupKey, set[int]] = {}
        """The same by the group of kube-scheduler's own kind."""
        self._naming: dict[GroupKey, set[Owner]] = {}
        """The owners whose templates name a group of kube-scheduler's own kind, by that."""

    def set_preempting(self, sources: Sources) -> None:
        """See `Tables.set_preempting`."""
        self._preempting = sources

    def sayings(self) -> OwnerGroups:
        """What owners and namespaces say now, without the pods. Later events of one do not change the other."""
        other = OwnerGroups(self._by_owner, preempting=self._preempting)
        other._chains = self._chains.copied()
        other._facts, other._namespaces = dict(self._facts), dict(self._namespaces)
        other._basic = set(self._basic)
        return other

    # ---- pods

    def told(self, pod: Pod) -> Told:
        """What the pod tells."""
        namespace, said, native = sys.intern(pod.metadata.namespace), first_said(pod), None
        if said is not None and pod.spec.scheduling_group is not None and source_of(said) == NATIVE:
            native, said = (namespace, said), second_said(pod)
        if said is not None:
            return Told((namespace, said), None, namespace, native)
        return Told(None, owned_pod(pod), namespace, native)

    def unit(self, told: Told) -> GroupKey | None:
        """The group with which such a pod may be evicted, whether or not its object exists."""
        if told.native is None:
            return self._of_others(told)
        return (self._of_others(told) if told.native in self._basic else None) or told.native

    def _of_others(self, told: Told) -> GroupKey | None:
        """The same without groups of kube-scheduler's own kind."""
        if told.owned is None:
            return told.said
        key, may_be = self._place(told.namespace, told.owned)
        return key if may_be and self._counts(key, told.owned) else None

    def unit_of(self, pod: Pod) -> GroupKey | None:
        """The group with which the pod may be evicted, whether or not its object exists; None if it has none."""
        return self.unit(self.told(pod))

    def gang_of(self, pod: Pod) -> GroupKey | None:
        """The group with which the pod is scheduled if it is a gang; None if no gang of its kind is planned for.

        Whether it is a gang, its object says.
        """
        key = self.unit_of(pod)
        return key if key is not None and may_ask(key[1], self._preempting) else None

    def native_beside(self, pod: Pod) -> GroupKey | None:
        """The group of kube-scheduler's own kind that the pod names, if it would belong to another one without it."""
        told = self.told(pod) if pod.spec.scheduling_group is not None else None
        return told.native if told is not None and self._of_others(told) is not None else None

    def succeeded(self, told: Told) -> GroupKey | None:
        """The gang for which such a pod counts once it has Succeeded. The number of a Job leaves it out already."""
        key = self.unit(told)
        counts = key is not None and may_ask(key[1], ALL_PREEMPTING) and source_of(key[1]) != JOB
        return key if counts else None

    def note(self, row: int, told: Told) -> GroupKey | None:
        """The pod in this row tells this. Returns the group of its owner that is new because of it."""
        owned = told.owned
        self._note_native(row, told)
        if owned is None:
            self._forget_owned(row)
            return None
        key, _ = self._place(told.namespace, owned)
        before = self._pods.get(row)
        if before == (key, owned):
            return None
        if owned.by:
            self._chains.note(row, owned.by)
        if before is not None and before[1].by not in ("", owned.by):
            self._chains.forget(row, before[1].by)
        if before is not None:
            self._take(row)
        return key if self._put(row, key, owned) else None

    def _note_native(self, row: int, told: Told | None) -> None:
        before = self._native.pop(row, None)
        if before is not None and before.native is not None:
            _discard(self._beside, before.native, row)
        if told is not None and told.native is not None and (told.said is not None or told.owned is not None):
            self._native[row] = told
            self._beside.setdefault(told.native, set()).add(row)

    def forget(self, row: int) -> None:
        """The pod in this row is gone."""
        self._note_native(row, None)
        self._forget_owned(row)

    def _forget_owned(self, row: int) -> None:
        """The pod in this row may not belong to the group of an owner any longer."""
        if row in self._pods:
            owned = self._take(row)
            if owned.by:
                self._chains.forget(row, owned.by)

    def _put(self, row: int, key: GroupKey, owned: OwnedPod) -> bool:
        """Whether it is the first pod of its group."""
        self._pods[row] = key, owned
        rows = self._rows.setdefault(key, set())
        is_first = not rows
        rows.add(row)
        if is_first:
            self._keys.setdefault(_owner_of(key), set()).add(key)
        return is_first

    def _take(self, row: int) -> OwnedPod:
        key, owned = self._pods.pop(row)
        _discard(self._rows, key, row)
        if key not in self._rows:
            _discard(self._keys, _owner_of(key), key)
        return owned

    def may_move(self, row: int) -> bool:
        """Whether the pod in this row may belong to another group when somebody else than it says something else."""
        return row in self._pods or row in self._native

    def group_in(self, row: int) -> GroupKey | None:
        """The group to which the pod in this row belongs, as things are now; None if it has none.

        For pods that `may_move`.
        """
        told = self._native.get(row)
        if told is not None:
            return self.unit(told)
        pod = self._pods.get(row)
        if pod is None:
            return None
        key, may_be = self._place(pod[0][0], pod[1])
        return key if may_be and self._counts(key, pod[1]) else None

    # ---- what groups of kube-scheduler's own kind, owners and namespaces say

    def know_native(self, key: GroupKey, group: PodGroup | None) -> Moves:
        """The form of a group of kube-scheduler's own kind is this now; None: it does not exist."""
        if is_basic(group) == (key in self._basic):
            return NO_MOVES
        if is_basic(group):
            self._basic.add(key)
        else:
            self._basic.discard(key)
        groups = {each for owner in self._naming.get(key, ()) for each in self._keys.get(owner, ())}
        return Moves(groups, rows=frozenset(self._beside.get(key, ())), natives=frozenset([key]))

    def upsert_owner(self, item: OwnerObject) -> Moves:
        """An owner's object exists and says this."""
        meta, kind = item.metadata, type(item)
        led = self._move(self._chains.put(item)) if isinstance(item, OwningJob) else Moves()
        return self._know((OWNERS[kind].source, meta.namespace, meta.name), facts_of(item), led)

    def delete_owner(self, kind: type[OwnerObject], namespace: str, name: str) -> Moves:
        """An owner's object is gone. Its pods are still one group if it is of a kind that counts by default."""
        if kind is OwningJob:
            self._chains.remove(kind, namespace, name)
        return self._know((OWNERS[kind].source, namespace, name), None, Moves())

    def upsert_stateful_set(self, item: OwningStatefulSet) -> Moves:
        """A StatefulSet exists. It leads its pods to an owner, or does not."""
        return self._move(self._chains.put(item))

    def delete_stateful_set(self, namespace: str, name: str) -> None:
        """A StatefulSet is gone. Its pods stay where they are."""
        self._chains.remove(OwningStatefulSet, namespace, name)

    def pod_changed(self, uid: str) -> Moves:
        """There is such a pod now, or it has another controller. It may lead the pods of a StatefulSet."""
        return self._move(self._chains.pod_changed(uid)) if self._chains.concerns(uid) else NO_MOVES

    def _move(self, controllers: Iterable[str]) -> Moves:
        """These controllers lead to another owner than before."""
        led = frozenset(controllers)
        rows = frozenset(row for uid in led for row in self._chains.rows(uid))
        groups = set()
        for row in rows:
            before, owned = self._pods[row]
            key, _ = self._place(before[0], owned)
            if key != before and self._put(row, key, self._take(row)):
                groups.add(key)
        return Moves(groups, rows, led)

    def _know(self, owner: Owner, facts: OwnerFacts | None, led: Moves) -> Moves:
        """The owner says this; None: nothing, or it is gone. Of what it says, little moves pods.

        `led`: what else moves.
        """
        before = self._facts.get(owner)
        if before == facts:
            return led
        for name, _ in before.beside if before is not None else ():
            _discard(self._naming, (owner[1], name), owner)
        for name, _ in facts.beside if facts is not None else ():
            self._naming.setdefault((owner[1], name), set()).add(owner)
        if facts is not None:
            self._facts[owner] = facts
        else:
            del self._facts[owner]
        groups = frozenset(self._keys.get(owner, ()))
        rows = frozenset[int]() if _placing(before) == _placing(facts) else self._rows_of(groups)
        return Moves(groups | led.groups, rows | led.rows, led.controllers)

    def _rows_of(self, groups: Set[GroupKey]) -> Set[int]:
        return frozenset(row for key in groups for row in self._rows[key])

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

    def _place(self, namespace: str, owned: OwnedPod) -> tuple[GroupKey, bool]:
        """The group of the pod's owner, and whether the pod may belong to it: its labels may lie.

        The chain to the owner tells its UID, also if the labels do not.
        """
        told = namespace, owned.name
        owner = self._chains.answer(owned.by) if owned.by else UNKNOWN
        if owner is UNKNOWN:
            return told, True
        name = owner_name(owned.name)
        if owner is None or not _is(owner, name):
            return told, False
        return told if name.uid else (namespace, named_by(owned.name, owner.uid)), True

    def _counts(self, key: GroupKey, owned: OwnedPod) -> bool:
        facts = self._find(key)
        return owned.counts(self._setting(key[0], facts), facts.said if facts is not None else None)

    def _find(self, key: GroupKey) -> OwnerFacts | None:
        """What the group's owner says; None if its object is not known, or another one has its name now."""
        owner = owner_name(key[1])
        facts = self._facts.get((owner.source, key[0], owner.name))
        return facts if facts is not None and owner.uid in ("", facts.metadata.uid) else None

    def awaits_owner(self, key: GroupKey) -> str:
        """The source of the owner that would make this group a gang once its object, or the first pod, is known.

        Empty if both are known, or if the group would be no gang.
        """
        facts = self._find(key) if is_owned(key[1]) else None
        is_known = facts is not None and (key in self._rows or self._minimum(key[0], facts) <= 0)
        if not is_owned(key[1]) or is_known or self._setting(key[0], facts) != "Gangs":
            return ""
        return owner_name(key[1]).source

    # ---- forms

    def form(self, namespace: str, name: str) -> PodGroup:
        """The internal form of a group of another kind that has no object of its own."""
        facts = self._find((namespace, name)) if is_owned(name) else None
        if facts is None:
            return implied(namespace, name)
        is_gang = self._setting(namespace, facts) == "Gangs"
        minimum = self._minimum(namespace, facts) if is_gang else 0
        return of_owner(facts.reference, facts.metadata, name, minimum)

    def _minimum(self, namespace: str, facts: OwnerFacts) -> int:
        return facts.minimum(lambda name: (namespace, name) in self._basic)


def _owner_of(key: GroupKey) -> Owner:
    owner = owner_name(key[1])
    return owner.source, key[0], owner.name


def _is(known: OwnerName, told: OwnerName) -> bool:
    """Whether this owner is the one that pods tell."""
    return (known.source, known.name) == (told.source, told.name) and told.uid in ("", known.uid)


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
