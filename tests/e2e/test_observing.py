"""`planning.mode: Observe` beside a kube-scheduler that calls us: decisions are written down, and nothing else is.

One plane for all of it: the tests run in the order of this file. First reprieve has the rights of the observer only.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bench.gang import Size
from cli.main import reprieve
from hack.controlplane.client import Client, Json
from hack.controlplane.components import OBSERVER_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.audit import beyond_an_observer
from tests.e2e.forgotten import wait_bound
from tests.e2e.interleaved import observe
from tests.e2e.pages import shell
from tests.e2e.served import read_metrics
from tests.e2e.support import REPRIEVE, Sandbox, SandboxFactory, condition, may, wait_for
from tests.e2e.switches import grant, revoke

"""API groups to which an observer writes: its own kinds, its Lease, and questions about rights."""
POD_WRITES = [
    *((verb, "pods") for verb in ("create", "update", "patch", "delete", "deletecollection")),
    *(
        (verb, f"pods/{name}")
        for verb in ("update", "patch")
        for name in ("status", "ephemeralcontainers", "resize")
    ),
    *(("create", f"pods/{name}") for name in ("eviction", "binding")),
]
NOBODY = "no-scheduler"
STAYS = "example.com/stays"
"""A finalizer: the pod terminates until the test lets it go."""
SEED = 35
ROUNDS = 25
LEASE = {"leaderElect": True, "retryPeriodSeconds": 0.2}


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    settings = {"planning": {"mode": "Observe"}, "observing": {"reportDays": 2}, "leaderElection": LEASE}
    return start_plane(Options(reprieve=True, reprieve_settings=settings, manifests=OBSERVER_FOLDERS))


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: SandboxFactory) -> Sandbox:
    return sandboxes(plane)


def observed(sandbox: Sandbox, preemptor: str) -> Json:
    """The plan that is stored for a gang."""
    return sandbox.wait_plan(preemptor, "Observed")


def test_a_gang_that_would_preempt_gets_a_plan_and_keeps_waiting(sandbox: Sandbox) -> None:
    """Its scheduler does not exist, so nobody else evicts for it either."""
    sandbox.nodes(2, cpu="2")
    low = sandbox.pods("low", 2, priority=1, cpu="2")
    sandbox.wait_bound(*low)
    members = sandbox.gang("hero", 2, priority=100, cpu="2", schedulerName=NOBODY)
    plan = observed(sandbox, "hero")
    assert plan["spec"]["mode"] == "Observe"
    assert plan["spec"]["outcome"] == "Preempts"
    assert sorted(each["name"] for each in plan["spec"]["victims"]) == low
    assert not plan["metadata"].get("finalizers")
    said = sandbox.wait_reason("PodGroup", "hero", "reprieve.dev/Scheduled", "Observing")
    wait_for(lambda: "2 pods would be evicted for it" in (said_of(sandbox, "hero") or said["message"]))
    for name in members:
        pod = sandbox.get_pod(name) or {}
        assert not pod["spec"].get("schedulingGates")
        assert not pod["status"].get("nominatedNodeName")
    assert sandbox.events(name="hero") == []


def said_of(sandbox: Sandbox, group: str) -> str:
    body = sandbox.client.get(REPRIEVE, "PodGroup", group, sandbox.namespace)
    found = condition(body, "reprieve.dev/Scheduled")
    return found["message"] if found is not None else ""


def test_the_scheduler_does_what_it_would_do_without_us(sandbox: Sandbox) -> None:
    """It binds members as they come, and it evicts for them."""
    sandbox.nodes(2, cpu="2")
    low = sandbox.pods("low", 2, priority=1, cpu="2")
    sandbox.wait_bound(*low)
    sandbox.group("hero", min_count=3, priority=100)
    for number in range(2):
        sandbox.pod(f"hero-{number}", priority=100, cpu="2", group="hero")
    wait_bound(sandbox, "hero-0", "hero-1")  # two of three: reprieve would have held them
    sandbox.wait_gone(*low)
    sandbox.wait_reason("PodGroup", "hero", "reprieve.dev/Scheduled", "Observing")


def test_the_plan_says_what_the_scheduler_did_instead(
    plane: ControlPlane, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It preempts for the first member before the second one exists. A group that is evicted whole by rule loses two
    of its three pods. They are still terminating when the gang is complete, so the state before is known."""
    sandbox.nodes(3, cpu="2")
    low = sandbox.gang("low", 3, priority=1, cpu="2", mode="all", finalizers=[STAYS])
    sandbox.wait_bound(*low)
    sandbox.group("hero", min_count=2, priority=100)
    sandbox.pod("hero-0", priority=100, cpu="2", group="hero")
    wait_for(lambda: len(preempted(sandbox)) == 1)
    sandbox.pod("hero-1", priority=100, cpu="2", group="hero")
    plan = observed(sandbox, "hero")
    assert plan["spec"]["victimPods"] == 3, "ours are all pods of the group"

    def said() -> Json:
        found: Json = observed(sandbox, "hero")["status"].get("instead") or {}
        return found

    wait_for(lambda: said().get("victims", {}).get("pods") == 2, what=lambda: f"{said()}")
    instead = said()
    assert instead["state"] == "Same"
    assert instead["victims"] == {
        "pods": 2,
        "units": 1,
        "highestPriority": 1,
        "prioritySum": 1 + 2**31,
    }
    assert (instead["groupsBroken"], instead["unattributed"]) == (1, 0)
    assert (instead["bound"], instead["concluded"]) == (False, False)
    a_cluster_and_its_dump_give_one_report(plane, sandbox.namespace, monkeypatch)
    for name in low:
        sandbox.client.patch("v1", "Pod", name, {"metadata": {"finalizers": None}}, sandbox.namespace)
    sandbox.wait_bound("hero-0", "hero-1")


def test_a_gang_that_comes_to_full_nodes_is_decided_on_the_state_before(plane: ControlPlane) -> None:
    """Victims of its first members are gone before its last one exists. See test_interleaved.py for a hundred."""
    seen = observe(plane, Size(20, 10))
    assert (seen.plan["spec"]["outcome"], seen.plan["spec"]["victimPods"]) == ("Preempts", 90)
    assert (seen.instead["state"], seen.instead["unattributed"]) == ("Same", 0)
    assert (seen.instead["victims"]["pods"], seen.instead["groupsBroken"]) == (seen.pods, seen.broken)
    assert seen.pods > 0


def a_cluster_and_its_dump_give_one_report(
    plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As JSON and as a page. Both are made at one time."""
    now = time.time()
    monkeypatch.setattr("api.clock._SystemClock.wall", lambda _self: now)
    dump = plane.directory / "plans.json"
    result = shell(
        plane, f"kubectl get preemptionplans,clusterpreemptionplans,preemptionreports -A -o json > {dump}"
    )
    assert result.returncode == 0, result.stderr
    for output in ("json", "html"):
        asked = ["report", "-n", namespace, "--by", "gang", "-o", output]
        live = CliRunner().invoke(reprieve, [*asked, "--kubeconfig", str(plane.kubeconfig)])
        assert (live.exit_code, live.stderr) == (0, "")
        assert "the scheduler preempted 2 pods, and reprieve would have evicted 3" in live.stdout
        assert CliRunner().invoke(reprieve, [*asked, "-f", str(dump)]).stdout == live.stdout


def preempted(sandbox: Sandbox) -> list[str]:
    """Pods that the scheduler has marked."""
    return [
        pod["metadata"]["name"]
        for pod in sandbox.list_pods()
        if condition(pod, "DisruptionTarget") is not None
    ]


def test_under_a_random_load_nothing_of_others_is_written(plane: ControlPlane, sandbox: Sandbox) -> None:
    load(sandbox, ROUNDS)
    assert beyond_an_observer(plane.audit_log) == []
    metrics = read_metrics(plane)
    assert metrics["reprieve_pod_writes_refused_total"] == 0.0
    assert (
        sum(value for name, value in metrics.items() if name.startswith("reprieve_observed_decisions_total"))
        > 0.0
    )


def load(sandbox: Sandbox, rounds: int) -> None:
    """Gangs and pods of three priorities come and go. At rest nobody bears anything of ours."""
    rng, made = random.Random(SEED), list[str]()  # no secret
    sandbox.nodes(3, cpu="4")
    for number in range(rounds):
        name, level = f"load-{number}", rng.choice((1, 10, 100))
        what = rng.choice(("gang", "gang", "pod", "delete"))
        if what == "gang":
            members, mode = rng.choice((2, 3)), rng.choice((None, "all"))
            made += sandbox.gang(name, members, priority=level, cpu=rng.choice(("1", "2")), mode=mode)
        elif what == "pod":
            made.append(sandbox.pod(name, priority=level, cpu="1"))
        elif made:
            sandbox.delete_pod(made.pop(rng.randrange(len(made))))
    settle(sandbox)
    for pod in sandbox.list_pods():
        assert condition(pod, "reprieve.dev/Held") is None
        assert not pod["spec"].get("schedulingGates")


def settle(sandbox: Sandbox) -> None:
    """Until the PodGroups say how many members are bound."""

    def left() -> list[Any]:
        pods = [pod for pod in sandbox.list_pods() if not pod["metadata"].get("deletionTimestamp")]
        groups = sandbox.client.list(REPRIEVE, "PodGroup", sandbox.namespace)
        counted = {
            each["metadata"]["name"]: (each.get("status") or {}).get("boundMembers", 0) for each in groups
        }
        return [
            (name, bound)
            for name, bound in counted.items()
            if bound != sum(bool(pod["spec"].get("nodeName")) for pod in pods if of_group(pod) == name)
        ]

    wait_for(lambda: not left(), what=lambda: f"not counted: {left()}")


def of_group(pod: Json) -> str:
    name: str = (pod["metadata"].get("labels") or {}).get("reprieve.dev/pod-group", "")
    return name


def test_the_process_names_its_mode(plane: ControlPlane) -> None:
    first = json.loads((plane.layout.logs / "reprieve.log").read_text().splitlines()[0])
    assert (first["event"], first["planning"]) == ("starting", "Observe")
    lease = plane.client.get("coordination.k8s.io/v1", "Lease", "reprieve", "reprieve-system")
    assert lease["metadata"]["annotations"]["reprieve.dev/planning-mode"] == "Observe"
    assert "default-scheduler" in lease["metadata"]["annotations"]["reprieve.dev/schedulers"], "it calls us"


def test_a_report_of_the_day_survives_new_leaders_and_counts_nothing_twice(
    plane: ControlPlane, sandbox: Sandbox
) -> None:
    sandbox.nodes(1, cpu="2")
    low = sandbox.pods("low", 1, priority=1, cpu="2", finalizers=[STAYS])
    sandbox.wait_bound(*low)
    members = sandbox.gang("hero", 1, priority=100, cpu="2")
    wait_for(lambda: preempted(sandbox) == low)
    observed(sandbox, "hero")
    sandbox.client.patch("v1", "Pod", low[0], {"metadata": {"finalizers": None}}, sandbox.namespace)
    sandbox.wait_bound(*members)
    kind, old = (REPRIEVE, "PreemptionReport"), ["2020-01-01", "2020-01-02"]
    for name in old:
        plane.client.create({"apiVersion": REPRIEVE, "kind": kind[1], "metadata": {"name": name}})
    wait_for(lambda: has_concluded(sandbox))
    counts, ended = [], concluded(plane)
    for _ in range(2):
        restart(plane, "Observe")
        found = [each for each in plane.client.list(*kind) if each["metadata"]["name"] not in old]
        counted = [uid for each in found for uid in each.get("counted") or ()]
        total = sum(each["total"]["observed"].get("decisions", 0) for each in found)
        assert len(set(counted)) == len(counted) <= total
        assert set(counted) >= ended
        rows = [row for each in found for row in (*each["namespaces"], each["others"])]
        assert sum(row["observed"].get("decisions", 0) for row in rows) == total
        mine = [row["observed"]["decisions"] for row in rows if row.get("namespace") == sandbox.namespace]
        assert mine == [1]
        counts.append(total)
        # Two reports stay. The leader that has begun deletes the rest, and writes at its end.
        wait_for(lambda: plane.client.find(*kind, old[0]) is None, what="an old report stays")
    assert counts[1] >= counts[0]


def has_concluded(sandbox: Sandbox) -> bool:
    return any((plan["status"].get("instead") or {}).get("concluded") for plan in sandbox.plans())


def concluded(plane: ControlPlane) -> set[str]:
    """UIDs of the plans whose accounts are closed."""
    return {
        plan["metadata"]["uid"]
        for plan in plane.client.list(REPRIEVE, "PreemptionPlan")
        if (plan["status"].get("instead") or {}).get("concluded")
    }


def test_its_account_has_no_right_to_write_a_pod(plane: ControlPlane) -> None:
    client = Client.of_kubeconfig(plane.layout.kubeconfig_of("reprieve"))
    with closing(client):
        assert may(client, "list", "pods")
        assert [each for each in POD_WRITES if may(client, *each)] == []


def test_with_all_rights_an_observer_writes_no_more(plane: ControlPlane, sandbox: Sandbox) -> None:
    """No process has enforced here: such a one may turn pods down, and the next observer would bring them back."""
    grant(plane)
    restart(plane, "Observe")
    load(sandbox, ROUNDS // 2)
    assert beyond_an_observer(plane.audit_log) == []
    revoke(plane)


def test_enforce_without_the_rights_observes_and_says_so(plane: ControlPlane, sandbox: Sandbox) -> None:
    restart(plane, "Enforce")
    victims, members = full_of(sandbox)
    assert observed(sandbox, "hero")["spec"]["mode"] == "Observe"
    wait_for(lambda: "delete pods" in said_on_lease(plane)["reprieve.dev/rights-missing"])
    assert said_on_lease(plane)["reprieve.dev/planning-mode"] == "Observe"
    assert all(sandbox.get_pod(name) for name in (*victims, *members))
    assert beyond_an_observer(plane.audit_log) == []


def test_with_the_mode_and_the_rights_it_acts(plane: ControlPlane, sandbox: Sandbox) -> None:
    grant(plane)
    restart(plane, "Enforce")
    victims, members = full_of(sandbox, "default-scheduler")
    sandbox.wait_gone(*victims)
    sandbox.wait_bound(*members)
    assert said_on_lease(plane)["reprieve.dev/rights-missing"] == ""
    assert beyond_an_observer(plane.audit_log) != []


def full_of(sandbox: Sandbox, scheduler: str = NOBODY) -> tuple[list[str], list[str]]:
    """A gang that needs the room of two pods; both, and its members. With NOBODY, its scheduler does not evict."""
    sandbox.nodes(2, cpu="2")
    low = sandbox.pods("low", 2, priority=1, cpu="2")
    sandbox.wait_bound(*low)
    return low, sandbox.gang("hero", 2, priority=100, cpu="2", schedulerName=scheduler)


def restart(plane: ControlPlane, mode: str, **planning: Any) -> None:
    """reprieve runs with this mode from now on, and with these settings of `planning`."""
    file = plane.layout.directory / "reprieve.yaml"
    settings = yaml.safe_load(file.read_text())
    settings["planning"] |= {"mode": mode, **planning}
    file.write_text(yaml.safe_dump(settings))
    plane.reprieve.stop()
    plane.start_reprieve()


def said_on_lease(plane: ControlPlane) -> dict[str, str]:
    lease = plane.client.get("coordination.k8s.io/v1", "Lease", "reprieve", "reprieve-system")
    found: dict[str, str] = lease["metadata"]["annotations"]
    return found


# ---- a canary: the same plane, where one namespace after the other is enforced

SELECTED = {"canary": "yes"}


def select(sandbox: Sandbox) -> None:
    sandbox.client.patch("v1", "Namespace", sandbox.namespace, {"metadata": {"labels": SELECTED}})


def test_a_canary_leaves_other_namespaces_alone_until_they_have_the_label(
    plane: ControlPlane, sandboxes: SandboxFactory
) -> None:
    grant(plane)
    selector = {"matchLabels": SELECTED}
    restart(plane, "Enforce", enforcedNamespaceSelector=selector, confirmationSeconds=1)
    ours, theirs = sandboxes(plane), sandboxes(plane)
    select(ours)
    first, second = ours.nodes(2, cpu="1")
    ours.filler("low", first, 1)
    theirs.filler("low", second, 1)
    members = ours.gang("hero", 2, priority=100, cpu="1")
    wait_for(lambda: "1 pod that would make room for it is in observed namespaces" in said_of(ours, "hero"))

    theirs.nodes(1, cpu="1")
    theirs.group("part", min_count=2, priority=100)
    theirs.pod("part-0", priority=100, cpu="1", group="part")
    theirs.wait_bound("part-0")  # reprieve would have held it
    theirs.wait_reason("PodGroup", "part", "reprieve.dev/Scheduled", "Observing")
    assert ours.bound().keys() == {"low-0"}
    assert theirs.bound().keys() == {"low-0", "part-0"}

    select(theirs)
    ours.wait_bound(*members)
    (plan,) = [each for each in ours.plans("hero") if each["spec"]["outcome"] == "Preempts"]
    assert len(plan["spec"]["victims"]) == 2
    assert condition(theirs.get_pod("part-0") or {}, "reprieve.dev/Held") is None
    assert read_metrics(plane)["reprieve_pod_writes_refused_total"] == 0.0
