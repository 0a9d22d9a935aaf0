"""Whatever is created, deleted, created again or forged, a pod is in the group of the owner that its chain leads to."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.core import Pod
from api.foreign_owners import OwningJob, OwningStatefulSet
from api.meta import OwnerReference
from nodes.state.tables import Tables
from tests.kit.examples import examples
from tests.kit.objects import pod

NS = "default"
JOB_SET, LWS = "JobSet.jobset.x-k8s.io", "LeaderWorkerSet.leaderworkerset.x-k8s.io"
VERSIONS = {
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    "Pod": "v1",
}
NUMBERS = st.sampled_from([1, 1, 1, 2])
"""Behind names, they make UIDs."""
SET, POD = ("LeaderWorkerSet", "llm"), ("Pod", "a")
OTHERS = [("LeaderWorkerSet", "other"), ("JobSet", "sim"), None]
OWNERS = {
    "llm": [SET, SET, SET, POD, *OTHERS],
    "llm-0": [POD, POD, POD, SET, *OTHERS],
    "sim-w-0": [SET, POD, *OTHERS],
}
"""Of what is called so: the true one is the likeliest."""
REPLICA = {"leaderworkerset.sigs.k8s.io/name": "llm"}
OF_JOB = {
    f"jobset.sigs.k8s.io/{key}": value
    for key, value in {"jobset-name": "sim", "replicatedjob-name": "w", "job-index": "0"}.items()
}


class Link(NamedTuple):
    """A Job or StatefulSet that exists."""

    uid: str
    kind: str
    controller: OwnerReference | None


Answer = tuple[str, str, str] | None
"""The source, name and UID of an owner; None: the chain leads to none."""


class ChainsMachine(RuleBasedStateMachine):
    """Objects that refer to whatever UID there is, was or will be, and a model that follows all chains each time.

    Few names and UIDs, so that chains come to be.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tables = Tables(by_owner="Gangs")
        self.links: dict[str, Link] = {}
        self.pods: dict[str, Pod] = {}
        self.known: dict[str, Answer] = {}
        self.copied, self.said = self.tables.owners.sayings(), list[tuple[Pod, tuple[str, str] | None]]()
        """A copy of what owners say before the last event, and what it said of the pods then."""

    # ---- what happens

    @rule(name=st.sampled_from(sorted(OWNERS)), number=NUMBERS, data=st.data(), is_named=st.booleans())
    def put_link(self, name: str, number: int, data: st.DataObject, is_named: bool) -> None:
        """A StatefulSet, or a Job whose pods name a JobSet or not. Nobody may have seen that it was deleted before."""
        before, kind = self.links.get(name), "Job" if name == "sim-w-0" else "StatefulSet"
        uid = f"{name}-{number}"
        owner, controller = data.draw(st.sampled_from(OWNERS[name])), None
        if owner is not None:
            its = f"{owner[1]}-{data.draw(NUMBERS)}"
            controller = OwnerReference(VERSIONS[owner[0]], owner[0], owner[1], its, controller=True)
        is_read = kind == "StatefulSet" or is_named
        if is_read and (before and before[::2]) != (uid, controller):
            self.known.pop(uid, None)
        meta: dict[str, Any] = {"name": name, "namespace": NS, "uid": uid}
        if controller is not None:
            meta["ownerReferences"] = [msgspec.to_builtins(controller)]
        if kind == "StatefulSet":
            self.tables.upsert_stateful_set(msgspec.convert({"metadata": meta}, OwningStatefulSet))
            self.links[name] = Link(uid, kind, controller)
            return
        template = {"metadata": {"labels": OF_JOB if is_named else {}}}
        self.tables.upsert_owner(
            msgspec.convert({"metadata": meta, "spec": {"template": template}}, OwningJob)
        )
        self.links.pop(name, None)
        if is_named:
            self.links[name] = Link(uid, kind, controller)

    @precondition(lambda self: self.links)
    @rule(data=st.data())
    def delete_link(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.links)))
        if self.links.pop(name).kind == "Job":
            self.tables.delete_owner(OwningJob, NS, name)
        else:
            self.tables.delete_stateful_set(NS, name)

    @rule(
        name=st.sampled_from(["a", "b"]),
        number=NUMBERS,
        by=st.sampled_from(["llm", "llm-0", "sim-w-0"]),
        its=NUMBERS,
        index=st.sampled_from(["0", "0", "0", "", "1"]),
        ended=st.sampled_from([False, False, False, True]),
    )
    def put_pod(self, name: str, number: int, by: str, its: int, index: str, ended: bool) -> None:
        """A pod that says that a StatefulSet or Job controls it. Whether there is such a one is not said."""
        kind, uid = "Job" if by == "sim-w-0" else "StatefulSet", f"{name}-{number}"
        labels = OF_JOB if kind == "Job" else {**REPLICA, "leaderworkerset.sigs.k8s.io/group-index": index}
        made = pod(
            name,
            labels=labels,
            node="n",
            uid=uid,
            phase="Failed" if ended else "Running",
        )
        made.metadata.owner_references = [
            OwnerReference(VERSIONS[kind], kind, by, f"{by}-{its}", controller=True)
        ]
        if name in self.pods and self.pods[name].metadata.uid != uid:
            del self.pods[name]  # the former one goes first
            self.learn()
        self.tables.upsert_pod(made)
        self.pods.pop(name, None)
        if not ended:
            self.pods[name] = made

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.pods)))
        del self.pods[name]
        self.tables.delete_pod(NS, name)

    # ---- what must hold

    @invariant()
    def each_pod_is_in_the_group_of_its_owner(self) -> None:
        self.learn()
        for each in self.pods.values():
            row = self.tables.pod(each.metadata.uid)
            assert row is not None
            assert self.tables.view(row).group == self.expected(each)
            assert self.tables.owners.unit_of(each) == self.expected(each)

    @invariant()
    def a_copy_says_the_same_and_does_not_move(self) -> None:
        assert [(each, self.copied.unit_of(each)) for each, _ in self.said] == self.said
        self.copied = self.tables.owners.sayings()
        self.said = [(each, self.tables.owners.unit_of(each)) for each in self.pods.values()]
        assert [(each, self.copied.unit_of(each)) for each, _ in self.said] == self.said

    @invariant()
    def nothing_is_kept_that_nobody_has(self) -> None:
        chains = self.tables.owners._chains
        there = {link.uid for link in self.links.values()}
        assert set(chains._links) == there
        assert set(chains._rows) == {self.controller(each) for each in self.pods.values() if self.told(each)}
        assert set(chains._answers) <= there | set(chains._rows)
        assert set(chains._above) <= there

    def learn(self) -> None:
        """Follow each chain. What cannot be followed any further leads where it did, for as long as it has pods."""
        for link in self.links.values():
            if (found := self.follow(link)) != "unknown":
                self.known[link.uid] = found  # type: ignore[assignment]
        kept = {link.uid for link in self.links.values()}
        kept |= {self.controller(each) for each in self.pods.values() if self.told(each)}
        self.known = {uid: answer for uid, answer in self.known.items() if uid in kept}

    def follow(self, link: Link) -> Answer | str:
        reference = link.controller
        if reference is None:
            return None
        if reference.kind == "Pod" and link.kind == "StatefulSet":
            leader = next((each for each in self.pods.values() if each.metadata.uid == reference.uid), None)
            above = self.controller(leader) if leader is not None else ""
            top = next((each for each in self.links.values() if each.uid == above), None)
            if top is None or top.controller is None:
                return None if top is not None else "unknown"
            link, reference = top, top.controller
        if (link.kind, reference.kind) not in (("Job", "JobSet"), ("StatefulSet", "LeaderWorkerSet")):
            return None
        return JOB_SET if link.kind == "Job" else LWS, reference.name, reference.uid

    @staticmethod
    def controller(each: Pod) -> str:
        assert each.metadata.owner_references is not None
        return each.metadata.owner_references[0].uid

    @staticmethod
    def told(each: Pod) -> tuple[str, str, str] | None:
        """The source of the owner that the labels tell, its name, and that of the group."""
        labels = each.metadata.labels or {}
        if "jobset.sigs.k8s.io/jobset-name" in labels:
            return JOB_SET, "sim", "sim"
        index = labels["leaderworkerset.sigs.k8s.io/group-index"]
        assert each.metadata.owner_references is not None
        name = each.metadata.owner_references[0].name
        return (LWS, "llm", f"llm-{index}") if index and name in ("llm", f"llm-{index}") else None

    def expected(self, each: Pod) -> tuple[str, str] | None:
        told = self.told(each)
        if told is None:
            return None
        source, owner, name = told
        if (by := self.controller(each)) not in self.known:
            return NS, f"{source}:{name}"
        answer = self.known[by]
        if answer is None or answer[:2] != (source, owner):
            return None
        return NS, f"{source}:{name}:{answer[2]}"

    def teardown(self) -> None:
        for name in list(self.pods):
            self.tables.delete_pod(NS, name)
        for name, link in self.links.items():
            if link.kind == "Job":
                self.tables.delete_owner(OwningJob, NS, name)
            else:
                self.tables.delete_stateful_set(NS, name)
        owners = self.tables.owners
        chains = owners._chains
        kept = (chains._links, chains._uids, chains._answers, chains._rows, chains._above, chains._below)
        assert not any([*kept, owners._pods, owners._rows, owners._keys])
        assert len(self.tables.groups.keys) == 0


TestChains = ChainsMachine.TestCase
TestChains.settings = settings(
    max_examples=examples(400), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
