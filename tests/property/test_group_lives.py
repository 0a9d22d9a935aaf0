"""Random lives of a PodGroup in a queue: quota is never exceeded, and everything comes to rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from api.groups import PodGroup
from api.validation import convert
from api.workloads import Workload
from controllers.jobs.owned_workload import Wish
from controllers.jobs.pod_groups.life import Around, GroupStep, Seen, next_step
from controllers.jobs.pod_groups.members import Member
from hack.controlplane import objects
from quota.cycle.pod_set_infos import PodSetInfo
from tests.kit.jobs import group_workload

UID, WISH, SETS = "w-uid", Wish("q", 0, None, None), ("a", "b")
LOOKS = 7
"""The number of ten events that are seen at once."""
EVENTS = st.lists(
    st.sampled_from(
        ["create a", "create a", "create b", "bind", "delete", "gone", "succeed", "admit", "evict"]
    ),
    min_size=10,
    max_size=40,
)


class World:
    """The API server, kubelets and the quota controller, as far as this group goes."""

    def __init__(self) -> None:
        body: Any = objects.pod_group("g", "team", min_count=2)
        self.group: PodGroup = convert(body, PodGroup)
        self.members: dict[str, Member] = {}
        self.counts: dict[str, int] = {}
        self.has_workload = self.reserved = self.admitted = self.evicted = self.finished = False
        self.made = 0

    @property
    def workload(self) -> Workload | None:
        if not self.has_workload:
            return None
        true = {
            "QuotaReserved": self.reserved,
            "Admitted": self.admitted,
            "Evicted": self.evicted,
            "Finished": self.finished,
        }
        return group_workload((kind for kind, is_true in true.items() if is_true), self.counts, UID)

    def step(self) -> GroupStep:
        infos = [PodSetInfo(name, count, {}, {}, {}, ()) for name, count in self.counts.items()]
        ordered = sorted(self.members.values(), key=lambda each: each.created)
        return next_step(Seen(self.group, ordered, self.workload), Around(WISH, lambda _: infos))

    def look(self) -> bool:
        """Do what follows. Returns whether anything was done."""
        step, before = self.step(), (dict(self.members), dict(self.counts), self.workload)
        if step.create or step.renew:
            living = [each for each in self.members.values() if each.lives and each.admitted_by in ("", UID)]
            self.counts = dict(Counter(each.pod_set for each in living))
            self.has_workload = True
        for member, info in step.admit:
            assert self.admitted
            assert not self.evicted
            self.members[member.uid] = replace(member, admitted_by=UID, is_gated=False, pod_set=info.name)
        for member in step.remove:
            assert not member.bound
            del self.members[member.uid]
        if step.stop:  # the gang plane asks for the deletion of all that run
            for member in list(self.members.values()):
                if member.bound:
                    self.members[member.uid] = replace(member, leaving=True)
        if step.reported.finished is not None:
            self.finished = True
        if self.evicted and step.reported.nothing_runs:
            self.reserved = self.admitted = self.evicted = False
        self.check()
        return (dict(self.members), dict(self.counts), self.workload) != before

    def check(self) -> None:
        used = Counter(
            each.pod_set for each in self.members.values() if each.admitted_by and not each.succeeded
        )
        if self.reserved:
            assert all(used[name] <= self.counts.get(name, 0) for name in SETS)
        else:
            assert not used, "nobody has quota that was given back"

    def happen(self, event: str, index: int) -> None:
        living = sorted(self.members)
        chosen = self.members[living[index % len(living)]] if living else None
        match event.split():
            case ["create", name]:
                self.made += 1
                uid = f"{self.made:03}"
                self.members[uid] = Member(
                    uid=uid, name=uid, version="", created=uid, pod_set=name, is_gated=True, can_select=True
                )
            case ["bind"] if chosen is not None and chosen.admitted_by and not chosen.leaving:
                self.members[chosen.uid] = replace(chosen, bound=True)
            case ["delete"] if chosen is not None:
                self.members[chosen.uid] = replace(chosen, leaving=True)
            case ["gone"] if chosen is not None and chosen.leaving:
                del self.members[chosen.uid]
            case ["succeed"] if chosen is not None and chosen.bound:
                self.members[chosen.uid] = replace(chosen, succeeded=True)
            case ["admit"] if self.has_workload and not self.finished:
                self.reserved = self.admitted = True
            case ["evict"] if self.admitted and not self.finished:
                self.evicted = True
            case _:
                pass


@given(EVENTS, st.lists(st.integers(0, 9), min_size=40, max_size=40))
@settings(max_examples=300, deadline=None)
def test_quota_is_never_exceeded_and_everything_comes_to_rest(events: list[str], indices: list[int]) -> None:
    world = World()
    for event, index in zip(events, indices, strict=False):
        world.happen(event, index)
        if index < LOOKS:
            world.look()
    for _ in range(50):  # pods that terminate are gone in the end
        for member in list(world.members.values()):
            if member.leaving:
                del world.members[member.uid]
        if not world.look():
            break
    else:
        raise AssertionError("it does not come to rest")
    assert not world.evicted, "an evicted group has left"
