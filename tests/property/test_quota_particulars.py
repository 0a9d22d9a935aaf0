"""What is true of the particulars of every entry."""

from __future__ import annotations

from hypothesis import given

from quota.cycle.cycle import cycle
from quota.cycle.particulars import particulars
from quota.search.decision import Options
from tests.kit.quota.objects import Object, snapshot
from tests.property.quota_worlds import NOW, OPTIONS, heads, worlds


@given(worlds(("first", "second"), memory=True), OPTIONS)
def test_every_entry_that_has_a_decision_can_be_told(objects: list[Object], options: Options) -> None:
    world = snapshot(*objects)
    for entry in cycle(world, heads(objects), NOW, options):
        if entry.decision is None:
            continue
        found = particulars(world, entry, NOW)
        asked = {(each.flavor, each.resource): each.asked for each in found.amounts}
        assert asked == dict(entry.decision.assignment.usage)
        assert [each.key for each in found.victims] == [
            target.holder.key for target in entry.decision.targets
        ]
        assert all(0 <= each.borrowed <= each.asked for each in found.amounts)
        if entry.outcome in ("Admit", "Preempt"):
            assert any(each.borrowed for each in found.amounts) <= (entry.decision.borrowing > 0)
