"""A former victim of a preemptor keeps away from what is evicted for it now."""

from __future__ import annotations

from types import MappingProxyType

from controllers.quota.life.planned import FormerVictims, Planned, PlannedVictim, promise_of


def planned(preemptor: str, *victims: str) -> Planned:
    goes = {
        name: PlannedVictim(name, f"ns/{name}", "InCohortReclamation", "b", "/b", 0, 0) for name in victims
    }
    return Planned(
        ("ns", "plan"),
        preemptor,
        "u",
        1,
        5,
        "q",
        "/q",
        MappingProxyType({}),
        MappingProxyType(goes),
        decided=0,
    )


def test_a_promise_names_the_victims_of_earlier_plans_until_the_preemptor_has_quota() -> None:
    former, first, second = FormerVictims(), planned("ns/p", "a"), planned("ns/p", "b")
    former.begins(first)
    assert promise_of(first, former.of(first)).former == frozenset()
    former.begins(second)
    promise = promise_of(second, former.of(second))
    assert (promise.victims, promise.former) == (frozenset({"ns/b"}), frozenset({"ns/a"}))
    assert former.of(planned("ns/other", "b")) == frozenset()
    former.forget("ns/p")
    assert promise_of(second, former.of(second)).former == frozenset()
