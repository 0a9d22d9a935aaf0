"""What the mirror says to the rules."""

from __future__ import annotations

from api.core import PriorityClass
from api.groups import PodGroup, PodGroupSchedulingPolicy, PodGroupSpec
from api.meta import ObjectMeta
from tests.kit.objects import priority_class
from tests.unit.webhooks.support import listed, mirror
from webhooks.facts import UNKNOWN
from webhooks.mirrored import MirroredFacts


async def test_only_what_is_needed_is_followed() -> None:
    assert [reflector.kind for reflector in mirror()._reflectors] == ["priorityclasses", "podgroups"]


async def test_before_the_first_list_nothing_is_known() -> None:
    followed = mirror()
    followed.tables.upsert_priority_class(priority_class("high", 10, default=True))
    facts = MirroredFacts(followed)
    assert facts.priority_class("high") is UNKNOWN
    assert facts.default_priority_class() is UNKNOWN
    assert facts.pod_group("default", "gang") is UNKNOWN
    always = facts.priority_class("system-node-critical")
    assert isinstance(always, PriorityClass)
    assert always.value == 2000001000


async def test_what_is_mirrored_is_known() -> None:
    followed = listed(mirror())
    facts = MirroredFacts(followed)
    assert facts.priority_class("high") is None
    assert facts.default_priority_class() is None
    assert facts.pod_group("default", "gang") is None
    high = priority_class("high", 10, default=True)
    low = priority_class("low", 5, default=True)
    for each in (high, low, priority_class("other", 1)):
        followed.tables.upsert_priority_class(each)
    group = PodGroup(
        metadata=ObjectMeta(name="gang", namespace="default"),
        spec=PodGroupSpec(scheduling_policy=PodGroupSchedulingPolicy()),
    )
    followed.tables.upsert_group(group)
    assert facts.priority_class("high") == high
    assert facts.default_priority_class() == low  # upstream's choice where there are several
    assert facts.pod_group("default", "gang") == group
    assert facts.pod_group("other", "gang") is None
