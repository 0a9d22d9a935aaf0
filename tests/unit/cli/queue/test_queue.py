from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import reprieve
from tests.kit.manifests import group
from tests.kit.quota.manifests import FLAVOR, LOCAL, NOW, admitted, cluster_queue, manifest, workload

RECLAIMS = {"reclaimWithinCohort": "LowerPriority"}
LENDER = cluster_queue("lender", "10", cohortName="team", preemption=RECLAIMS)
OWNER = manifest("LocalQueue", "owner", "d", spec={"clusterQueue": "lender"})
BORROWER = cluster_queue("cq", "2", cohortName="team", preemption={})
HELD = admitted("held", 3, "6")
LOW = admitted("low", 1, "5")
OBJECTS = [FLAVOR, LENDER, BORROWER, LOCAL, OWNER, HELD, LOW, workload("incoming", 5, "3")]


def ask(objects: list[dict[str, Any]], *arguments: str) -> Result:
    stdin = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    return CliRunner().invoke(reprieve, ["queue", "-f", "-", "--now", NOW, *arguments], input=stdin)


def data(objects: list[dict[str, Any]], *arguments: str) -> dict[str, Any]:
    result = ask(objects, *arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    loaded: dict[str, Any] = json.loads(result.stdout)
    return loaded


def test_all_queues() -> None:
    (tree,) = data(OBJECTS)["trees"]
    amounts = {
        node["name"]: [
            (
                each["quota"],
                each["used"],
                each["borrowed"],
                each["lentAtLeast"],
                each["lentAtMost"],
                each["free"],
            )
            for each in node["quota"]
        ]
        for node in tree
    }
    assert amounts == {
        "team": [("12", "11", "0", "0", "0", "1")],
        "cq": [("2", "11", "9", "0", "0", "1")],
        "lender": [("10", "0", "0", "9", "9", "1")],
    }
    assert [(node["name"], node["kind"], node["depth"], node["waiting"]) for node in tree] == [
        ("team", "Cohort", 0, None),
        ("cq", "ClusterQueue", 1, 1),
        ("lender", "ClusterQueue", 1, 0),
    ]


def test_who_could_take_it_back() -> None:
    (reclaim,) = data(OBJECTS)["reclaims"]
    victims = reclaim.pop("victims")
    assert reclaim == {
        "clusterQueue": "lender",
        "flavor": "default",
        "resource": "cpu",
        "amount": "10",
        "free": "1",
        "withinNominal": True,
        "abovePriority": 3,
        "rules": ["InCohortReclamation"],
    }
    assert [(each["workload"], each["holds"]) for each in victims] == [("d/held", "6"), ("d/low", "5")]
    assert victims[0] == {
        "workload": "d/held",
        "clusterQueue": "cq",
        "priority": 3,
        "reason": "InCohortReclamation",
        "holds": "6",
        "evicting": False,
    }


def test_another_priority_takes_less() -> None:
    (reclaim,) = data(OBJECTS, "--priority", "2")["reclaims"]
    assert (reclaim["amount"], [each["workload"] for each in reclaim["victims"]]) == ("6", ["d/low"])
    assert data(OBJECTS, "--priority", "1")["reclaims"] == []


def test_nobody_takes_back_what_a_policy_forbids() -> None:
    forbidden = cluster_queue("lender", "10", cohortName="team", preemption={"reclaimWithinCohort": "Never"})
    assert data([FLAVOR, forbidden, BORROWER, LOCAL, HELD, LOW])["reclaims"] == []


def test_a_cluster_queue() -> None:
    found = data(OBJECTS, "cq")
    assert (found["clusterQueue"], found["path"], found["localQueue"]) == ("cq", "/team/cq", None)
    assert (found["reservingWorkloads"], found["admittedWorkloads"]) == (2, 0)
    assert found["couldTake"] == []
    assert [each["clusterQueue"] for each in found["couldLose"]] == ["lender"]
    (waiting,) = found["waiting"]
    assert waiting == {
        "workload": "d/incoming",
        "localQueue": "lq",
        "priority": 5,
        "created": "2026-03-01T08:00:00Z",
        "outcome": "NoFit",
        "notModelled": [],
        "message": waiting["message"],
        "victims": [],
        "podSets": [],
    }
    assert "cpu in flavor default" in waiting["message"]


def test_a_local_queue() -> None:
    found = data(OBJECTS, "d/lq")
    assert found["clusterQueue"] == "cq"
    assert found["localQueue"] == {
        "name": "d/lq",
        "stopPolicy": "None",
        "reservingWorkloads": 2,
        "admittedWorkloads": 0,
        "used": [{"flavor": "default", "resource": "cpu", "quantity": "11"}],
    }


def test_a_local_queue_of_a_namespace() -> None:
    assert ask(OBJECTS, "lq", "-n", "d").stdout == ask(OBJECTS, "d/lq").stdout
    for arguments in (("-n", "d"), ("d/lq", "-n", "d")):
        result = ask(OBJECTS, *arguments)
        assert (result.exit_code, "-n: needs the NAME of a LocalQueue" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nobody", "there is no ClusterQueue nobody (a LocalQueue is NAMESPACE/NAME)"),
        ("d/nobody", "there is no LocalQueue d/nobody"),
        ("d/stray", "LocalQueue d/stray: spec.clusterQueue: there is no ClusterQueue 'gone'"),
    ],
)
def test_a_name_of_nobody(name: str, problem: str) -> None:
    stray = manifest("LocalQueue", "stray", "d", spec={"clusterQueue": "gone"})
    result = ask([*OBJECTS, stray], name)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: {problem}\n")


def test_labels_of_namespaces_count_where_they_are_known() -> None:
    picky = cluster_queue("cq", "20", namespaceSelector={"matchLabels": {"team": "a"}})
    objects = [FLAVOR, picky, LOCAL, workload("incoming", 5, "3")]
    (waiting,) = data(objects, "cq")["waiting"]
    named = ["labels of Namespace d (ClusterQueue cq, spec.namespaceSelector)"]
    assert (waiting["outcome"], waiting["notModelled"]) == ("Unknown", named)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d"}}
    (waiting,) = data([*objects, namespace], "cq")["waiting"]
    assert (waiting["outcome"], waiting["message"]) == (
        "Inadmissible",
        "Workload namespace doesn't match ClusterQueue selector",
    )


def test_lent_in_part_by_nobody_knows_whom() -> None:
    other = cluster_queue("other", "10", cohortName="team", preemption={})
    shown = ask([*OBJECTS, other]).stdout
    assert "0 to 9" in shown
    assert "other" in shown


def test_yaml_has_the_same() -> None:
    assert yaml.safe_load(ask(OBJECTS, "-o", "yaml").stdout) == data(OBJECTS)


def test_the_text_of_a_queue_that_is_not_active() -> None:
    stopped = cluster_queue("cq", "2", stopPolicy="Hold")
    shown = ask([FLAVOR, stopped, LOCAL, HELD]).stdout
    assert "ClusterQueue cq, without a Cohort" in shown
    assert "cq is not active" in shown
    assert "It is not active" in ask([FLAVOR, stopped, LOCAL, HELD], "cq").stdout


def test_no_queue_at_all() -> None:
    assert ask([]).stdout == "There is no ClusterQueue.\n"


def test_limits_are_named() -> None:
    limited = cluster_queue("cq", "2", cohortName="team")
    limited["spec"]["resourceGroups"] = [
        group(("cpu",), "default", nominalQuota="2", borrowingLimit="1", lendingLimit="2")
    ]
    shown = ask([FLAVOR, limited, LOCAL], "cq").stdout
    assert "It borrows at most 1 cpu in flavor default." in shown
    assert "It lends at most 2 cpu in flavor default." in shown
