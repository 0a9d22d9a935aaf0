from __future__ import annotations

import json

from api.published import BY_OWNER, GATES, QUOTA_MODE, SCHEDULERS
from cli.common.configuration import Configuration
from cli.serve.notes import notes
from controllers.gangs.configuration import GroupsConfiguration
from extender.callers import Callers
from tests.kit.clock import ManualClock


def test_the_notes_are_as_the_process_is_at_each_write() -> None:
    callers = Callers(ManualClock())
    said = notes(Configuration(), callers)
    assert json.loads(said()[SCHEDULERS]) == {}
    callers.saw("mine")
    assert list(json.loads(said()[SCHEDULERS])) == ["mine"]
    assert said()[QUOTA_MODE] == Configuration().quota.mode
    assert said()[BY_OWNER] == "Victims"
    gangs = Configuration(groups=GroupsConfiguration(by_owner="Gangs"))
    assert notes(gangs, None)()[BY_OWNER] == "Gangs"
    assert "WorkloadAwarePreemption=true" in said()[GATES].split(",")


def test_a_process_without_an_extender_says_nothing_of_schedulers() -> None:
    assert SCHEDULERS not in notes(Configuration(), None)()
