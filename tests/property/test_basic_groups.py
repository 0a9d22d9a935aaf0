"""Pods that name a group of kube-scheduler's own kind and another one: who they belong to, whatever comes in any order.

The native group's object may come late, go, and be basic or a gang. The model looks at everything that exists now.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.core import Pod
from nodes.state.tables import Tables
from tests.kit.examples import examples
from tests.kit.native_gangs import native_group
from tests.kit.objects import gang, pod

NS: Final = "default"
NATIVE: Final = {name: f"podgroups.scheduling.k8s.io:{name}" for name in ("a", "b")}
BESIDE: Final[dict[str, dict[str, Any]]] = {
    "": {},
    "ours": {"group": "ours"},
    "podgroups.scheduling.x-k8s.io:ring": {"labels": {"scheduling.x-k8s.io/pod-group": "ring"}},
    "PyTorchJob.kubeflow.org:train:uid-train": {"owner": ("kubeflow.org/v1", "PyTorchJob", "train")},
}
"""By its name, what makes a pod belong to the group; empty: to none."""


class BasicGroups(RuleBasedStateMachine):
    """Few names, so that they meet."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = Tables(by_owner="Gangs")
        self.tables.upsert_group(gang("ours"))
        self.pods: dict[str, tuple[str, str, bool]] = {}
        """By name: the native group and the other group that it names, and whether it has Succeeded."""
        self.objects: dict[str, bool] = {}
        """Native groups that exist, and whether each is basic."""

    @rule(name=st.sampled_from(sorted(NATIVE)), is_basic=st.booleans())
    def put_object(self, name: str, is_basic: bool) -> None:
        self.tables.upsert_group(native_group(name, minimum=0 if is_basic else 1))
        self.objects[name] = is_basic

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def delete_object(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.objects)))
        self.tables.delete_group(NS, NATIVE[name])
        del self.objects[name]

    @rule(
        name=st.sampled_from(["p", "q"]),
        native=st.sampled_from(["", *NATIVE]),
        beside=st.sampled_from(sorted(BESIDE)),
        succeeded=st.booleans(),
        number=st.integers(1, 2),
    )
    def put_pod(self, name: str, native: str, beside: str, succeeded: bool, number: int) -> None:
        group: dict[str, Any] = {"schedulingGroup": {"podGroupName": native}} if native else {}
        phase = "Succeeded" if succeeded else "Running"
        made: Pod = pod(name, uid=f"{name}-{number}", node="n", phase=phase, **group, **BESIDE[beside])
        self.tables.upsert_pod(made)
        self.pods[name] = native, beside, succeeded

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.pods)))
        self.tables.delete_pod(NS, name)
        del self.pods[name]

    def belongs(self, native: str, beside: str) -> str:
        """The group of a pod that names these two; empty if it has none."""
        if not native or (beside and self.objects.get(native, False)):
            return beside
        return NATIVE[native]

    @invariant()
    def each_pod_is_where_the_objects_say(self) -> None:
        members: dict[str, set[str]] = {}
        succeeded: dict[str, int] = {}
        for name, (native, beside, has_succeeded) in self.pods.items():
            group = self.belongs(native, beside)
            if group and has_succeeded:
                succeeded[group] = succeeded.get(group, 0) + 1
            elif group and not has_succeeded:
                members.setdefault(group, set()).add(name)
        for group in (*NATIVE.values(), *filter(None, BESIDE)):
            rows = self.tables.members((NS, group))
            assert {self.tables.pods.names[row] for row in rows} == members.get(group, set())
            if group != "PyTorchJob.kubeflow.org:train:uid-train":
                assert len(self.tables.succeeded((NS, group))) == succeeded.get(group, 0)

    @invariant()
    def a_copy_says_the_same(self) -> None:
        said = self.tables.owners.sayings()
        for native, beside, _ in self.pods.values():
            group: dict[str, Any] = {"schedulingGroup": {"podGroupName": native}} if native else {}
            found = said.unit_of(pod("x", **group, **BESIDE[beside]))
            assert (found[1] if found is not None else "") == self.belongs(native, beside)

    def teardown(self) -> None:
        """Nothing is kept of pods that are gone."""
        for name in self.pods:
            self.tables.delete_pod(NS, name)
        owners, succeeded = self.tables.owners, self.tables.succeeded_members
        assert not any((owners._native, owners._beside, owners._pods))
        assert not any((succeeded._native, succeeded._beside, len(succeeded)))


TestBasicGroups = BasicGroups.TestCase
TestBasicGroups.settings = settings(deadline=None, max_examples=examples(100), stateful_step_count=20)
