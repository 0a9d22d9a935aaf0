"""What follows for a PodGroup in a queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.groups import PodGroup
from api.validation import convert
from api.workloads import ReclaimablePod, Workload
from controllers.jobs.owned_workload import JobError, Wish
from controllers.jobs.pod_groups.life import Around, GroupStep, Seen, next_step
from controllers.jobs.pod_groups.members import Member
from controllers.jobs.pod_groups.workload import admission_patch, pod_sets_of
from hack.controlplane import objects
from quota.cycle.pod_set_infos import PodSetInfo
from tests.kit.jobs import group_workload

WISH = Wish("q", 0, None, None)
ONE = PodSetInfo("a", 2, {}, {}, {"pool": "x"}, ())
UID = "workload-uid"


def group(*, mode: str | None = None, gang: bool = True) -> PodGroup:
    body = objects.pod_group("g", "team", min_count=2 if gang else None, mode=mode)
    body["metadata"]["uid"] = "group-uid"
    made: PodGroup = convert(body, PodGroup)
    return made


def workload(*true: str, count: int = 2, reserved: bool | None = None, **meta: Any) -> Workload:
    holds = "Admitted" in true if reserved is None else reserved
    conditions = [*true, "QuotaReserved"] if holds else true
    return group_workload(
        conditions, {"a": count}, UID, finalizers=["kueue.x-k8s.io/resource-in-use"], **meta
    )


def member(name: str, **changes: Any) -> Member:
    base = Member(uid=name, name=name, version="1", created=name, pod_set="a", is_gated=True, can_select=True)
    return replace(base, **changes)


def running(name: str, **changes: Any) -> Member:
    state: dict[str, Any] = {"admitted_by": UID, "is_gated": False, "can_select": False, "bound": True}
    return member(name, **(state | changes))


def step(
    *members: Member,
    workload: Workload | None = None,
    group: PodGroup | None = group(),  # noqa: B008 - nobody changes it
    wish: Wish | JobError = WISH,
    preempted: str = "",
    infos: tuple[PodSetInfo, ...] = (ONE,),
) -> GroupStep:
    return next_step(Seen(group, members, workload, preempted), Around(wish, lambda _: infos))


def names(members: tuple[Member, ...]) -> list[str]:
    return [each.name for each in members]


def test_a_workload_is_made_with_min_count_members() -> None:
    assert not step(member("0")).create
    assert step(member("0"), member("1")).create
    assert not step(member("0"), member("1", leaving=True)).create
    assert not step(member("0"), member("1", succeeded=True)).create
    assert step(member("0"), member("1"), wish=JobError("no class")).warning == "no class"
    assert "gang policy" in step(member("0"), member("1"), group=group(gang=False)).warning


def test_gates_open_where_no_queue_is_named() -> None:
    done = step(member("0"), member("1", is_gated=False), wish=replace(WISH, queue_name=""))
    assert names(done.open_gates) == ["0"]


@pytest.mark.parametrize(
    ("members", "renews"),
    [
        ((member("0"), member("1")), False),
        ((member("0"), member("1"), member("2")), True),
        ((member("0"),), False),
        ((member("0"), member("1", pod_set="b")), True),
    ],
)
def test_a_workload_that_waits_follows_the_members(members: tuple[Member, ...], renews: bool) -> None:
    assert step(*members, workload=workload()).renew is renews
    assert not step(*members, workload=workload(reserved=True)).renew


def test_members_pass_within_the_admitted_counts_the_oldest_first() -> None:
    done = step(running("0"), member("1"), member("2"), workload=workload("Admitted"))
    assert [each.member.name for each in done.admit] == ["1"]
    assert [(each.member.name, each.reason) for each in done.remarks] == [("2", "BeyondAdmittedCount")]
    done = step(running("0"), running("1", leaving=True), member("2"), workload=workload("Admitted"))
    assert not done.admit, "it has its room until it is gone"
    done = step(running("0"), running("1", succeeded=True), member("2"), workload=workload("Admitted"))
    assert [each.member.name for each in done.admit] == ["2"]
    done = step(member("0", pod_set="other"), workload=workload("Admitted"))
    assert [each.reason for each in done.remarks] == ["BeyondAdmittedCount"]


def test_a_member_without_a_gate_passes_only_if_it_needs_no_other_node_selector() -> None:
    plain = member("0", is_gated=False, can_select=False)
    assert [each.reason for each in step(plain, workload=workload("Admitted")).remarks] == [
        "CannotGetNodeSelector"
    ]
    right = replace(plain, node_selector={"pool": "x"})
    assert [each.member for each in step(right, workload=workload("Admitted")).admit] == [right]


def test_nobody_passes_before_the_workload_is_admitted() -> None:
    for each in (workload(), workload(reserved=True), workload("Admitted", "Evicted")):
        assert not step(member("0"), member("1"), workload=each).admit


def test_an_evicted_group_leaves_whole_and_then_reports_it() -> None:
    evicted = workload("Admitted", "Evicted")
    done = step(running("0"), running("1", bound=False), member("2"), workload=evicted)
    assert done.stop == "Workload w was evicted: because"
    assert names(done.remove) == ["1"]
    assert not done.reported.nothing_runs
    assert done.reported.remaining == ("0", "1")
    done = step(running("0", leaving=True), member("2"), workload=evicted)
    assert not done.stop
    assert not done.reported.nothing_runs
    assert step(member("2"), workload=evicted).reported.nothing_runs


def test_a_group_that_goes_whole_on_nodes_is_evicted() -> None:
    whole = step(running("0"), workload=workload("Admitted"), group=group(mode="all"), preempted="by x")
    assert whole.reported.eviction == ("Preempted", "Preempted on nodes: by x")
    single = step(running("0"), workload=workload("Admitted"), preempted="by x")
    assert single.reported.eviction is None


def test_a_group_whose_members_have_succeeded_is_finished() -> None:
    done = step(running("0", succeeded=True), running("1", succeeded=True), workload=workload("Admitted"))
    assert done.reported.finished is not None
    assert done.reported.finished[0] == "Succeeded"
    assert (
        step(running("0", succeeded=True), running("1"), workload=workload("Admitted")).reported.finished
        is None
    )


def test_a_conflict_of_labels_finishes_the_workload() -> None:
    bad = workload("Admitted")
    bad.spec.pod_sets[0].template.spec.node_selector = {"pool": "y"}
    done = step(member("0"), workload=bad)
    assert done.reported.finished is not None
    assert done.reported.finished[0] == "FailedToStart"
    assert not done.admit


def test_a_workload_that_is_deleted_goes_after_the_pods() -> None:
    goes = workload("Admitted", deletionTimestamp="2026-01-01T00:00:00Z")
    assert step(running("0"), workload=goes).stop
    assert not step(running("0"), workload=goes).unprotect
    assert step(member("0"), workload=goes).unprotect
    assert step(workload=goes, group=None).unprotect
    assert step(workload=workload("Admitted"), group=None).delete
    assert not step(running("0"), workload=workload("Admitted"), group=None).delete


def test_members_whose_workload_is_gone_leave() -> None:
    done = step(running("0", admitted_by="other"), member("1"))
    assert done.stop
    assert not done.create


def test_another_queue_ends_what_has_quota() -> None:
    other = replace(WISH, queue_name="other")
    assert step(running("0"), workload=workload("Admitted"), wish=other).stop
    none = replace(WISH, queue_name="")
    assert step(running("0"), workload=workload("Admitted"), wish=none).stop
    assert step(member("0"), workload=workload(), wish=none).delete
    assert step(member("0"), workload=workload(), wish=other).renew


def test_pod_sets_are_shapes_with_whole_templates() -> None:
    pods = [
        objects.pod(f"p{i}", "team", group="g", cpu=cpu, hostPID=True, nodeName="")
        for i, cpu in enumerate("112")
    ]
    for each in pods:
        each["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    made = pod_sets_of(pods)
    assert sorted(each["count"] for each in made) == [1, 2]
    for each in made:
        spec = each["template"]["spec"]
        assert spec["hostPID"] is True, "fields that nobody here knows are kept"
        assert not {"schedulingGates", "nodeName"} & spec.keys()


def test_a_patch_removes_this_gate_and_no_other() -> None:
    (admit,) = step(member("0"), workload=workload("Admitted")).admit
    patch = admission_patch(admit, UID, [])
    assert patch["spec"] == {
        "schedulingGates": [{"name": "kueue.x-k8s.io/admission", "$patch": "delete"}],
        "nodeSelector": {"pool": "x"},
    }
    assert patch["metadata"]["uid"] == "0"
    assert patch["metadata"]["resourceVersion"] == "1"


@pytest.mark.parametrize("state", [None, workload(), workload(reserved=True)])
def test_members_that_run_without_quota_go(state: Workload | None) -> None:
    """The webhook was down, or the group got its queue when it ran already."""
    members = [member("a", bound=True, is_gated=False), member("b")]
    assert (
        next_step(Seen(group(), members, state), Around(WISH)).stop == "it was bound before it was admitted"
    )
    members = [member("a", bound=True, is_gated=False, leaving=True), member("b")]
    assert next_step(Seen(group(), members, state), Around(WISH)).stop == ""


def test_members_whose_quota_was_given_back_leave() -> None:
    """It was reserved only, for the queue had got another admission check. So nobody has evicted it."""
    waits = workload(reserved=False)
    done = step(running("0"), running("1", bound=False), member("2"), workload=waits)
    assert done.stop
    assert names(done.remove) == ["1"]
    assert done.reported.runs
    assert not step(member("2"), member("3"), workload=waits).stop


def test_a_group_that_runs_says_so_whatever_its_workload_says() -> None:
    for state in (workload("Admitted"), workload(reserved=True), workload("Evicted", reserved=True)):
        assert step(running("0"), running("1"), workload=state).reported.runs
        assert not step(running("0", succeeded=True), member("1"), workload=state).reported.runs


def test_the_quota_of_members_that_succeeded_is_free() -> None:
    members = [member("a", admitted_by=UID, succeeded=True), member("b", admitted_by=UID, bound=True)]
    step = next_step(Seen(group(), members, workload("Admitted")), Around(WISH, lambda _: [ONE]))
    assert step.reported.reclaimable == {"a": 1}


def test_who_succeeded_has_no_successor() -> None:
    held = workload("Admitted")
    held.status.reclaimable_pods = [ReclaimablePod("a", 1)]
    members = [member("b", admitted_by=UID, bound=True), member("c")]
    step = next_step(Seen(group(), members, held), Around(WISH, lambda _: [ONE]))
    assert [each.member.name for each in step.admit] == []


def test_a_group_that_waits_has_nothing_to_reclaim() -> None:
    members = [member("a"), member("b")]
    assert next_step(Seen(group(), members, workload()), Around(WISH)).reported.reclaimable == {}


@pytest.mark.parametrize("state", [workload("Evicted", reserved=True), workload("Evicted"), workload()])
def test_a_group_that_has_succeeded_is_finished_although_it_lost_its_quota(state: Workload) -> None:
    members = [member(name, admitted_by=UID, bound=True, succeeded=True) for name in ("a", "b")]
    step = next_step(Seen(group(), members, state), Around(WISH))
    assert step.reported.finished is not None
    step = next_step(Seen(group(), [*members, member("c")], state), Around(WISH))
    assert step.reported.finished is None
