from __future__ import annotations

import json

import pytest

from api.core import Namespace
from api.meta import ObjectMeta
from api.pauses import PAUSED, PAUSED_UNTIL
from api.published import (
    BY_OWNER,
    ENFORCED,
    GATES,
    NAMESPACE,
    PAUSES,
    PLANNING_MODE,
    QUOTA_MODE,
    RIGHTS_MISSING,
    SCHEDULERS,
)
from cli.common.configuration import Configuration
from cli.serve.notes import may_evict, notes, said_of
from controllers.gangs.configuration import GroupsConfiguration, PlanningConfiguration
from controllers.gangs.lifecycle.modes import Mode
from controllers.quota.configuration import QuotaConfiguration
from extender.callers import Callers
from runtime.mirror.pauses import Pauses
from serving.namespaces import NamespaceSelector
from tests.kit.clock import ManualClock
from tests.kit.views import unconnected

OFF = PlanningConfiguration(mode="Off")


def test_the_notes_are_as_the_process_is_at_each_write() -> None:
    callers, views = Callers(ManualClock()), unconnected(ManualClock())
    said = notes(Configuration(), callers, Pauses(views))
    assert json.loads(said()[SCHEDULERS]) == {}
    callers.saw("mine")
    assert list(json.loads(said()[SCHEDULERS])) == ["mine"]
    assert said()[QUOTA_MODE] == Configuration().quota.mode
    assert said()[BY_OWNER] == "Victims"
    gangs = Configuration(groups=GroupsConfiguration(by_owner="Gangs"))
    assert notes(gangs, None, Pauses(views))()[BY_OWNER] == "Gangs"
    assert "WorkloadAwarePreemption=true" in said()[GATES].split(",")


def test_a_process_without_an_extender_says_nothing_of_schedulers() -> None:
    assert SCHEDULERS not in notes(Configuration(), None, Pauses(unconnected()))()


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (Configuration(extender=None, planning=OFF), False),
        (Configuration(planning=OFF), False),
        (Configuration(), True),
        (Configuration(planning=PlanningConfiguration(mode="Enforce")), True),
        (Configuration(extender=None, planning=PlanningConfiguration(mode="Observe")), True),
        (Configuration(extender=None, planning=OFF, quota=QuotaConfiguration(mode="Enforce")), True),
    ],
)
def test_a_process_that_evicts_nobody_knows_of_no_pauses(file: Configuration, expected: bool) -> None:
    """That of the webhooks may not read Namespaces."""
    assert may_evict(file) == expected


def test_the_notes_say_that_a_term_lacks_rights_and_so_observes() -> None:
    missing = list[str]()
    said = notes(Configuration(planning=PlanningConfiguration(mode="Enforce")), None, None, lambda: missing)
    assert (said()[PLANNING_MODE], said()[RIGHTS_MISSING]) == ("Enforce", "")
    missing += ["delete pods", "patch pods"]
    assert (said()[PLANNING_MODE], said()[RIGHTS_MISSING]) == ("Observe", "delete pods, patch pods")


def test_without_pauses_the_notes_name_none() -> None:
    assert PAUSES not in notes(Configuration(extender=None), None, None)()


def test_the_notes_name_the_pauses_that_hold_first_that_of_our_own_namespace() -> None:
    clock = ManualClock()
    pauses = Pauses(unconnected(clock))
    said = notes(Configuration(), None, pauses)
    assert said()[PAUSES] == "[]"
    for name in ("a", NAMESPACE):
        end = {PAUSED_UNTIL: "2100-01-01T00:00:00Z"} if name == "a" else {PAUSED_UNTIL: "soon"}
        pauses.upsert(Namespace(ObjectMeta(name=name, annotations={PAUSED: f"why {name}", **end})))
    home, other = json.loads(said()[PAUSES])
    assert home["namespace"] == NAMESPACE
    assert home["why"] == f"why {NAMESPACE}"
    assert "until" not in home
    assert "RFC 3339" in home["fault"]
    assert other == {"namespace": "a", "why": "why a", "until": "2100-01-01T00:00:00Z"}
    clock.advance(1e10)
    assert len(json.loads(said()[PAUSES])) == 1


@pytest.mark.parametrize(
    ("mode", "listens"),
    [("Enforce", True), ("Observe", True), ("Observe", False), ("Off", True), ("Off", False)],
)
def test_the_lease_and_the_first_line_of_the_log_say_how_far_the_nodes_plane_goes(
    mode: Mode, listens: bool
) -> None:
    extender = Configuration().extender if listens else None
    configuration = Configuration(planning=PlanningConfiguration(mode=mode), extender=extender)
    assert notes(configuration, None, Pauses(unconnected()))()[PLANNING_MODE] == mode
    line = said_of(configuration)
    assert (line["planning"], line["quota"]) == (mode, "Off")
    assert line["means"]


def test_the_lease_and_the_log_say_which_namespaces_are_enforced() -> None:
    selector = NamespaceSelector(match_labels={"canary": "yes"})
    enforce = Configuration(
        planning=PlanningConfiguration(mode="Enforce", enforced_namespace_selector=selector)
    )
    said = notes(enforce, None, None)()[ENFORCED]
    assert json.loads(said)["matchLabels"] == {"canary": "yes"}
    assert said_of(enforce)["namespaces"] == said
    everywhere = Configuration(planning=PlanningConfiguration(mode="Enforce"))
    assert notes(everywhere, None, None)()[ENFORCED] == ""
    assert "namespaces" not in said_of(everywhere)
    observe = Configuration(
        planning=PlanningConfiguration(mode="Observe", enforced_namespace_selector=selector)
    )
    assert notes(observe, None, None)()[ENFORCED] == ""
    assert said_of(observe)["namespaces"].endswith("has no effect with planning.mode Observe")
