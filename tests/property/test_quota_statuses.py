"""The numbers of queues are those of a walk over all Workloads, whatever happened before."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from api.workloads import Workload
from quota.state.statuses import Counts, Tally
from quota.state.workloads import holds_quota, key_of, usage
from tests.kit.examples import examples
from tests.kit.quota.objects import evicted, held, preempted, set_condition, workload

QUEUES = st.sampled_from("ab")


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    made = workload(draw(st.sampled_from("uvwxyz")), draw(QUEUES), draw(st.integers(0, 3)))
    life = draw(st.sampled_from(["pending", "held", "admitted", "evicting", "preempted", "finished"]))
    if life == "pending":
        return made
    made = held(made, 1, queue=draw(QUEUES), flavors={"cpu": draw(st.sampled_from(["default", "other"]))})
    if life != "held":
        made = set_condition(made, "Admitted", "True", "Admitted", 2)
    if life == "evicting":
        made = evicted(made, 3)
    if life == "preempted":
        made = preempted(made, 3, "InClusterQueue")
    return set_condition(made, "Finished", "True", "Done", 4) if life == "finished" else made


def walked(there: list[Workload], cluster_queue: str, local_queue: str | None = None) -> Counts:
    """By looking at all."""
    counts = Counts()
    for each in there:
        admission = each.status.admission
        if not holds_quota(each) or admission is None or admission.cluster_queue != cluster_queue:
            continue
        if local_queue not in (None, f"ns/{each.spec.queue_name}"):
            continue
        is_admitted = any(
            one.type == "Admitted" and one.status == "True" for one in each.status.conditions or ()
        )
        counts.reserving += 1
        counts.admitted += is_admitted
        for fr, amount in usage(each).items():
            for amounts in (counts.reservation, *([counts.usage] if is_admitted else [])):
                if amount:
                    amounts[fr] = amounts.get(fr, 0) + amount
    return counts


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(workloads() | st.sampled_from("uvwxyz"), max_size=25))
def test_what_is_counted_is_what_a_walk_finds(events: list[Workload | str]) -> None:
    told: set[tuple[str, str]] = set()
    tally, there = Tally(lambda kind, key: told.add((kind, key))), dict[str, Workload]()
    for event in events:
        before = {(name, local): walked([*there.values()], name, local) for name in "ab" for local in PLACES}
        told.clear()
        if isinstance(event, str):
            tally.remove(f"ns/{event}")
            there.pop(f"ns/{event}", None)
        else:
            tally.put(event)
            there[key_of(event)] = event
        for (name, local), old in before.items():
            new = walked([*there.values()], name, local)
            found = tally.cluster_queue(name) if local is None else tally.local_queue(local, name)
            assert found == new
            queue = ("ClusterQueue", name) if local is None else ("LocalQueue", local)
            assert new == old or queue in told


PLACES = (None, "ns/a", "ns/b")
