"""A tenant with all rights in one namespace has no foreign pod evicted that their pods' own priority cannot preempt.

The planes have no webhooks: what they refuse must do no harm where they are missing, either. The last tests do without
the policy, too: an administrator writes what a tenant could write before there was one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from api.clock import SYSTEM_CLOCK
from api.plan_names import whole_plan_name
from api.plans import Victim, VictimPod
from api.times import rfc3339
from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import REPRIEVE, ReprieveFactory, Sandbox, condition, wait_for
from tests.e2e.tenant import (
    ATTEMPT,
    FOREIGN_PRIORITY,
    HIGHEST,
    OWN_PRIORITY,
    Attempt,
    allow_everything,
    forged_plan,
    victim_of,
)
from tests.e2e.tenant_attempts import ATTEMPTS
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM

POLICY = "ValidatingAdmissionPolicy 'reprieve-plans'"
MUST_BE_REFUSED = {
    "plan-created": 1,
    "plan-named-like-ours": 1,
    "plan-owned": 1,
    "plan-of-workloads": 1,
    "turn-created": 1,
    "plan-status": 1,
    "plan-changed": 4,
}
"""Attempts to write plans: how many writes of each the policy must refuse."""
QUIET_SECONDS = 3.0
"""How long after the last decision nothing may be evicted."""


@dataclass
class Made:
    """All attempts, made at once, and what became of them."""

    attempts: dict[str, Attempt]
    admin: Client
    allowed: Json
    """The plan that evicted a foreign pod of lower priority, which the tenant may have evicted."""
    whole: Json
    """The whole decision of that plan."""
    tenant: Sandbox
    foreign: Sandbox


def foreign_pod(foreign: Sandbox, node: str, name: str, priority: int, **pod: object) -> Json:
    """A running pod that fills the node."""
    body = foreign.pod_body(name, priority=priority, node_name=node, **pod)
    body["spec"].pop("nodeSelector")
    foreign.client.create(body)
    foreign.wait_running(name)
    return foreign.client.get("v1", "Pod", name, foreign.namespace)


def wait_for_policy(tenant: Client, namespace: str) -> None:
    """Until the API server knows the tenant's rights, and the policy."""
    body = {
        "apiVersion": REPRIEVE,
        "kind": "PreemptionPlan",
        "metadata": {"name": "probe", "namespace": namespace},
        "spec": {
            "preemptor": {
                "kind": "Pod",
                "apiVersion": "v1",
                "namespace": namespace,
                "name": "p",
                "uid": "u",
                "priority": 0,
            },
            "outcome": "Unschedulable",
            "reason": "",
            "domain": None,
            "priorityCutoff": None,
            "placements": [],
            "victims": [],
            "podDisruptionBudgetViolations": 0,
            "domains": [],
            "otherDomains": [],
            "notModelled": [],
        },
    }
    path = f"{path_of(REPRIEVE, 'PreemptionPlan', namespace)}?dryRun=All"

    def is_refused() -> bool:
        try:
            tenant.request("POST", path, body)
        except ApiError as error:
            return POLICY in str(error)
        return False

    wait_for(is_refused, what="the policy is not in force")


@pytest.fixture(scope="module")
def made(reprieve_plane: ControlPlane, module_sandboxes: Callable[[str], Sandbox]) -> Iterator[Made]:
    """Every attempt has a node with a foreign pod on it. At last comes what the tenant may do."""
    sandbox, foreign = module_sandboxes("tenant"), module_sandboxes("foreign")
    tenant = allow_everything(reprieve_plane.client, sandbox.namespace)
    wait_for_policy(tenant, sandbox.namespace)
    foreign.group("unit", min_count=1, mode="all", priority=FOREIGN_PRIORITY)
    attempts = {}
    for name in (*ATTEMPTS, "allowed"):
        node = sandbox.node(name, cpu="1", labels={ATTEMPT: name})
        priority = FOREIGN_PRIORITY if name in ATTEMPTS else OWN_PRIORITY - 1
        group = {"group": "unit"} if name == "group-named-like-theirs" else {}
        attempts[name] = Attempt(
            name, tenant, sandbox, node, foreign_pod(foreign, node, f"{name}-theirs", priority, **group)
        )
    for name, attempt in ATTEMPTS.items():
        attempt(attempts[name])
    attempts["allowed"].gang()
    sandbox.wait_bound("allowed")
    time.sleep(QUIET_SECONDS)
    plan = sandbox.wait_plan("allowed", "Bound")
    whole = reprieve_plane.client.get(
        REPRIEVE, "ClusterPreemptionPlan", whole_plan_name(sandbox.namespace, plan["metadata"]["name"])
    )
    yield Made(attempts, reprieve_plane.client, plan, whole, sandbox, foreign)
    tenant.close()


@pytest.fixture(scope="module")
def module_sandboxes(reprieve_plane: ControlPlane) -> Iterator[Callable[[str], Sandbox]]:
    """Sandboxes for all tests of this file."""
    made: list[Sandbox] = []

    def make(name: str) -> Sandbox:
        made.append(Sandbox(reprieve_plane.client, name, reprieve_plane))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.remove()


@pytest.mark.parametrize("name", ATTEMPTS)
def test_the_foreign_pod_stays(made: Made, name: str) -> None:
    before = made.attempts[name].foreign["metadata"]
    after = made.foreign.get_pod(before["name"])
    assert after is not None, made.tenant.report()
    assert after["metadata"]["uid"] == before["uid"]
    assert "deletionTimestamp" not in after["metadata"]
    assert condition(after, "DisruptionTarget") is None


@pytest.mark.parametrize("name", MUST_BE_REFUSED)
def test_the_policy_refuses_every_write_of_a_plan(made: Made, name: str) -> None:
    refused = [each for each in made.attempts[name].refused if POLICY in each]
    assert len(refused) == MUST_BE_REFUSED[name]


def test_the_whole_plan_is_out_of_reach(made: Made) -> None:
    assert any("cannot create resource" in each for each in made.attempts["whole-plan"].refused)
    client = made.attempts["whole-plan"].client
    with pytest.raises(ApiError, match="cannot list resource"):
        client.list(REPRIEVE, "ClusterPreemptionPlan")


def test_a_pod_that_the_own_priority_may_preempt_goes(made: Made) -> None:
    """Otherwise the other tests would say nothing."""
    name = made.attempts["allowed"].foreign["metadata"]["name"]
    assert made.foreign.get_pod(name) is None


def test_the_tenant_does_not_learn_the_names_of_foreign_pods(made: Made) -> None:
    theirs = made.attempts["allowed"].foreign["metadata"]
    (victim,) = made.allowed["spec"]["victims"]
    assert (victim["name"], victim["namespace"]) == ("", "")
    assert (victim["uid"], victim["priority"]) == (theirs["uid"], OWN_PRIORITY - 1)
    assert victim["pods"] == [
        {"namespace": "", "name": "", "uid": theirs["uid"], "node": made.attempts["allowed"].node}
    ]
    client = made.attempts["allowed"].client
    read = [
        *client.list(REPRIEVE, "PreemptionPlan", made.tenant.namespace),
        *client.list(REPRIEVE, "PodGroup", made.tenant.namespace),
        *client.list("events.k8s.io/v1", "Event", made.tenant.namespace),
    ]
    ours = {"event", "pod-owners"}  # what the tenant wrote, and what the garbage collector says of it
    named = {
        name
        for name, attempt in made.attempts.items()
        if any(attempt.foreign["metadata"]["name"] in str(each) for each in read)
    }
    assert named <= ours


def test_who_may_read_all_learns_them(made: Made) -> None:
    theirs = made.attempts["allowed"].foreign["metadata"]
    (victim,) = made.whole["spec"]["victims"]
    assert (victim["namespace"], victim["name"]) == (theirs["namespace"], theirs["name"])
    withheld = {"victims"}
    assert {
        name for name, value in made.whole["spec"].items() if value != made.allowed["spec"][name]
    } == withheld


# ---- what a restart finds

MISSING = VictimPod("", "", "ffffffff-0000-0000-0000-000000000000", "gone")
UNIT = "eeeeeeee-0000-0000-0000-000000000000"


def status_of(phase: str, *begun: str) -> Json:
    """Of a plan that began to evict."""
    phases = ["Planned", "Confirmed", "Evicting", *([phase] if phase == "Aborted" else [])]
    now = rfc3339(SYSTEM_CLOCK.wall())
    conditions = [
        {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": now}
        for each in phases
    ]
    return {"phase": phase, "conditions": conditions, "begun": list(begun)}


@pytest.fixture
def foreign(plane_without_reprieve: ControlPlane, numbers: Iterator[int]) -> Iterator[Sandbox]:
    """A second namespace on the plane of `reprieve_with`."""
    made = Sandbox(plane_without_reprieve.client, f"foreign-{next(numbers)}", plane_without_reprieve)
    yield made
    made.clear()


FORGED = {
    "planned": ("Planned", "pod"),
    "evicting": ("Evicting", "pod"),
    "half-evicted": ("Evicting", "pod and one that is gone"),
    "begun": ("Evicting", "unit in pieces"),
    "ready": ("Ready", "pod and one that is gone"),
    "ended": ("Aborted", "unit in pieces"),
}
"""The phase of a forged plan, and its victims."""
UNDECIDED = {"Planned", "Confirmed", "Evicting"}
"""Phases in which a pod may still be evicted. A plan that is Ready has asked for all that it asks for."""
CLAIMS = {"honest": OWN_PRIORITY, "lying": HIGHEST}
"""The priority of the forger's PodGroup. The plan always claims the highest; the pods have their own."""


def forge(attempt: Attempt, phase: str, victims: str) -> None:
    """Write the plan, as an administrator may."""
    theirs = victim_of(attempt.foreign)
    gone = Victim("Pod", "", "", MISSING.uid, 0, False, [MISSING])
    unit = Victim("PodGroup", theirs.namespace, "unit", UNIT, 0, False, [MISSING, *theirs.pods])
    chosen = {"pod": [theirs], "pod and one that is gone": [gone, theirs], "unit in pieces": [unit]}
    attempt.client.create(forged_plan(attempt, attempt.name, *chosen[victims]))
    if phase != "Planned":
        status = {"status": status_of(phase, *([UNIT] if victims == "unit in pieces" else []))}
        attempt.client.patch(REPRIEVE, "PreemptionPlan", attempt.name, status, attempt.namespace, "status")


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(["planned", "evicting", "half-evicted", "ready"], id="phases"),
        pytest.param(["begun", "ended"], id="begun", marks=SELDOM),
    ],
)
def test_forged_plans_evict_no_pod_of_higher_priority(
    reprieve_with: ReprieveFactory, foreign: Sandbox, forged: list[str]
) -> None:
    """All at one restart. Each has a node and a foreign pod of its own."""
    plane, tenant = reprieve_with()
    plane.reprieve.kill()
    attempts = {}
    for name, claim in itertools.product(forged, CLAIMS):
        key = f"{name}-{claim}"
        node = tenant.node(key, cpu="1", labels={ATTEMPT: key})
        pod = foreign_pod(foreign, node, key, FOREIGN_PRIORITY)
        attempts[key] = attempt = Attempt(key, plane.client, tenant, node, pod)
        attempt.gang(priority=CLAIMS[claim])
        assert attempt.refused == []
        forge(attempt, *FORGED[name])
    plane.start_reprieve()
    wait_for(lambda: not {phase_of(each) for each in tenant.plans()} & UNDECIDED, what=tenant.report)
    time.sleep(QUIET_SECONDS)
    assert foreign.history.evicted() == []
    marked = {key for key in attempts if condition(foreign.get_pod(key) or {}, "DisruptionTarget")}
    assert marked == set()


def phase_of(plan: Json) -> str:
    """A plan has none when it has just been created."""
    phase: str = plan.get("status", {}).get("phase", "Planned")
    return phase


def test_a_restart_goes_on_without_the_names_and_removes_whole_plans_that_nobody_needs(
    reprieve_with: ReprieveFactory, foreign: Sandbox
) -> None:
    """Killed between two foreign victims. The second process knows them by UID, and finds a plan that was deleted."""
    plane, tenant = reprieve_with("evict.between=kill")
    nodes = tenant.nodes(2, cpu="1")
    for number, node in enumerate(nodes):
        foreign_pod(foreign, node, f"theirs-{number}", OWN_PRIORITY - 1)
    members = tenant.gang("hero", 2, priority=OWN_PRIORITY)
    plane.reprieve.wait(PATIENCE_SECONDS)
    (plan,) = tenant.plans("hero")
    assert {each["name"] for each in plan["spec"]["victims"]} == {""}
    kind = REPRIEVE, "ClusterPreemptionPlan"
    (whole,) = [
        each
        for each in plane.client.list(*kind)
        if each["spec"]["preemptor"]["namespace"] == tenant.namespace
    ]
    name = f"{tenant.namespace}.of-a-plan-that-was-deleted"
    plane.client.create({**whole, "metadata": {"name": name}})
    plane.reprieve.environment = {}
    plane.start_reprieve()
    tenant.wait_bound(*members)
    assert foreign.history.evictions() == {"theirs-0": 1, "theirs-1": 1}
    wait_for(lambda: plane.client.find(*kind, name) is None, what=f"{name} is still there")
    assert plane.client.find(*kind, whole["metadata"]["name"]) is not None
