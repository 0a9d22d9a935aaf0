"""The ledger of the account equals a recomputation of the whole history, counts each victim once, and forgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from api.instead import LINES, Costs, Instead
from controllers.account.cases import LATE_SECONDS, Case, Decision
from controllers.account.costs import Lost
from controllers.account.ledger import HINT_SECONDS, Ledger
from controllers.account.saying import said_of
from controllers.account.victims import Victim
from runtime.exchange.accounted import Owner, Standing, Stayed, Usage

EPISODE = 60.0
NODES = ("n0", "n1")
OWNERS = tuple(
    Owner(f"o{each}", "PodGroup", "team", f"gang-{each}", ("team", f"gang-{each}")) for each in range(2)
)
MINIMUM = 2
DEVICE = "example.com/device"
GROUP = OWNERS[1]
"""It is evicted whole by rule, and may be a preemptor, too."""

Step = tuple[Any, ...]

WHO, NODE = st.integers(0, len(OWNERS) - 1), st.sampled_from(NODES)
AMOUNT = st.sampled_from([1000, 7000, 0])
AGE = st.sampled_from([300.0, 20.0, -5.0, None])
VICTIM = NODE, st.sampled_from([GROUP.uid, "u0", ""]), st.integers(1, 3), st.booleans(), AGE, AMOUNT
STEPS = st.lists(
    st.tuples(
        st.sampled_from([0.25, 0.25, 1.0, 4.0, 35.0]),
        st.one_of(
            st.tuples(st.just("decide"), WHO, st.booleans()),
            st.tuples(st.just("stand"), WHO, st.sets(NODE, max_size=2), st.integers(0, 1), AMOUNT),
            st.tuples(st.just("stand"), WHO, st.sets(NODE, min_size=1, max_size=1), st.just(1), AMOUNT),
            st.tuples(st.just("stay"), st.sampled_from(["u0", GROUP.uid]), st.integers(0, 2), AMOUNT),
            st.tuples(st.just("go"), WHO),
            st.tuples(st.just("preempt"), *VICTIM),
            st.tuples(st.just("evict"), *VICTIM, WHO),
            st.tuples(st.just("evict"), *VICTIM, WHO),
            st.tuples(st.just("name"), st.integers(0, 3), WHO),
            st.tuples(st.just("hint"), NODE, WHO),
        ),
    ),
    min_size=4,
    max_size=24,
)


@dataclass(frozen=True)
class Seen:
    """One thing of a history that is possible: it has names for what is there."""

    at: float
    what: str
    owner: str = ""
    standing: Standing | None = None
    decision: Decision | None = None
    victim: Victim | None = None
    stayed: Stayed | None = None
    uid: str = ""
    node: str = ""


def history_of(steps: Sequence[tuple[float, Step]]) -> list[Seen]:
    """Names come within LATE_SECONDS, and a preemptor that ran whole or is gone is not decided about again."""
    now, made, seen = 1000.0, list[Victim](), list[Seen]()
    done, gone, named = set[str](), set[str](), set[str]()
    for wait, step in steps:
        now += wait
        match step:
            case ("decide", who, changed):
                owner = OWNERS[who]
                if owner.uid not in done:
                    ours = Lost({DEVICE: float(len(seen))}, unknown=len(seen))
                    decision = Decision(("team", f"plan-{len(seen)}"), f"p{len(seen)}", owner, changed, ours)
                    seen.append(Seen(now, "decide", owner.uid, decision=decision))
            case ("stay", group, placed, amount):
                stayed = Stayed({DEVICE: amount} if amount else {}, placed, MINIMUM)
                seen.append(Seen(now, "stay", group, stayed=stayed))
            case ("stand", who, nodes, waiting, amount):
                if OWNERS[who].uid not in gone:
                    standing = Standing(frozenset(nodes), len(nodes), MINIMUM, waiting, {DEVICE: amount})
                    seen.append(Seen(now, "stand", OWNERS[who].uid, standing))
                    done |= {OWNERS[who].uid} if standing.is_whole else set()
            case ("go", who):
                if OWNERS[who].uid not in gone:
                    seen.append(Seen(now, "stand", OWNERS[who].uid, None))
                    done.add(OWNERS[who].uid)
                    gone.add(OWNERS[who].uid)
            case ("preempt" | "evict", node, unit, running, is_seen, age, amount, *who):
                uid = f"v{len(made)}"
                group = unit if unit not in done else ""
                usage = Usage({DEVICE: amount}, now - age) if age is not None else None
                victim = Victim(uid, "team", node, now, group or uid, running if group else 1, 5, is_seen)
                made.append(replace(victim, usage=usage, group=group, group_key=("team", group)))
                seen.append(Seen(now, "preempt", victim=made[-1]))
                if who:
                    now += 0.125
                    named.add(uid)
                    seen.append(Seen(now, "name", OWNERS[who[0]].uid, uid=uid))
            case ("name", number, who):
                near = [each for each in made if each.at + LATE_SECONDS >= now and each.uid not in named]
                if near:
                    uid = near[number % len(near)].uid
                    named.add(uid)
                    seen.append(Seen(now, "name", OWNERS[who].uid, uid=uid))
            case _:
                _, node, who = step
                seen.append(Seen(now, "hint", OWNERS[who].uid, node=node))
    return seen


class Told:
    """A ledger that gets a history as the controller passes it on."""

    def __init__(self) -> None:
        self.ledger = Ledger(EPISODE)
        self.stood: dict[str, Standing | None] = {
            each.uid: Standing(frozenset(), 0, MINIMUM, 2) for each in OWNERS
        }
        self.counted: list[str] = []
        self.lost: list[str] = []
        self.concluded: set[str] = set()

    def tell(self, seen: Seen) -> None:
        owner = next((each for each in OWNERS if each.uid == seen.owner), OWNERS[0])
        if seen.decision is not None:
            self.ledger.decided(seen.decision, seen.at)
        elif seen.what == "stand":
            self.stood[seen.owner] = seen.standing
            self.ledger.stands(seen.owner, seen.standing, seen.at)
        elif seen.victim is not None:
            self.ledger.preempted(seen.victim, seen.at)
        elif seen.what == "stay":
            self.ledger.stays(seen.owner, seen.stayed, seen.at)
        elif seen.what == "name":
            self.ledger.named(seen.uid, owner, seen.at)
        else:
            self.ledger.hinted([seen.node], owner, seen.at)
        self.meet(seen.at)

    def meet(self, now: float) -> None:
        """A case begins with the state that its preemptor has."""
        for each in self.ledger.begun():
            self.ledger.stands(each.uid, self.stood[each.uid], now)

    def pass_time(self, now: float) -> None:
        """Judge what is to be judged."""
        self.ledger.hinted([], OWNERS[0], now)
        self.meet(now)

    def wait(self, now: float) -> None:
        """Judge and settle."""
        counted = self.ledger.settle(now)
        self.meet(now)
        self.counted += [uid for case in counted.cases for uid in case.victims]
        self.lost += [each.uid for each in counted.unattributed]
        self.concluded |= {case.owner.uid for case in counted.cases}


def ticks_of(history: Sequence[Seen]) -> list[float]:
    """When the controller looks: after each step, and when the evidence about a victim is in."""
    judged = [each.at + LATE_SECONDS for each in history if each.what == "preempt"]
    return sorted({*(each.at for each in history), *judged})


# ---- the recomputation


@dataclass
class Left:
    """What was left of a group, from the first preemption of a pod of it."""

    breaker: Victim
    end: float
    told: list[tuple[float, int]] = field(default_factory=list)

    def tell(self, stayed: Stayed, at: float) -> None:
        if stayed.placed >= MINIMUM or not stayed.requests:
            self.end = at
        else:
            self.told.append((at if self.told else self.breaker.at, stayed.requests[DEVICE]))

    def idle(self, now: float) -> float:
        last = min(now, self.end)
        if last - self.breaker.at < 1.0:
            return 0.0
        ends = [*(at for at, _ in self.told[1:]), last]
        return sum(
            amount * (until - at) for (at, amount), until in zip(self.told, ends, strict=bool(self.told))
        )


@dataclass
class Naive:
    """Everything about one preemptor, from the whole history up to `now`."""

    history: list[Seen]
    owner: Owner
    now: float

    def attributed(self, victim: Victim) -> tuple[float, str]:
        """When it became known for whom the victim was preempted, and that (UID); (inf, "") if it is not known."""
        for each in self.history:
            if each.what == "name" and each.uid == victim.uid:
                return each.at, each.owner
        judged = victim.at + LATE_SECONDS
        hinting = {
            each.owner
            for each in self.history
            if each.what == "hint"
            and each.node == victim.node
            and victim.at - HINT_SECONDS <= each.at < judged
        }
        if judged > self.now or len(hinting) != 1:
            return inf, ""
        return judged, hinting.pop()

    @property
    def victims(self) -> list[Victim]:
        return [each.victim for each in self.history if each.victim is not None]

    def exists(self) -> float:
        """Since when there is a case."""
        decided = [
            each.at for each in self.history if each.decision is not None and each.owner == self.owner.uid
        ]
        named = [when for when, who in map(self.attributed, self.victims) if who == self.owner.uid]
        return min([*decided, *named], default=inf)

    def standings(self) -> list[tuple[float, Standing | None]]:
        """From the beginning of the case."""
        since = self.exists()
        before: Standing | None = Standing(frozenset(), 0, MINIMUM, 2)
        found = []
        for each in self.history:
            if each.what == "stand" and each.owner == self.owner.uid:
                if each.at < since:
                    before = each.standing
                else:
                    found.append((each.at, each.standing))
        # What came at the very time of the beginning may have come before it.
        return [(since, before), *found]

    def said(self) -> tuple[Any, ...]:
        standings = self.standings()
        end = min((at for at, each in standings if each is None or each.is_whole), default=inf)
        whole = min((at for at, each in standings if each is not None and each.is_whole), default=inf)
        over = min(
            (at for at, each in standings if each is None or (each.is_whole and not each.waiting)),
            default=inf,
        )
        ran = {
            node: min(at for at, each in standings if each is not None and node in each.nodes)
            for node in NODES
            if any(each is not None and node in each.nodes for _, each in standings)
        }
        own = [each for each in self.victims if self.attributed(each)[1] == self.owner.uid and each.at <= end]
        began = min([self.exists(), *(each.at for each in own)])
        served = [max(whole, ran.get(each.node, inf)) <= each.at + EPISODE for each in own]
        for_nothing = sum(
            not serves and self.now >= min(each.at + EPISODE, over)
            for each, serves in zip(own, served, strict=True)
        )
        units = {each.unit for each in own}
        broken = sum(
            max(each.running for each in own if each.unit == unit) > sum(each.unit == unit for each in own)
            for unit in units
        )
        return (
            len(own),
            len(units),
            broken,
            for_nothing,
            whole < inf,
            self.lost(ran, began, end),
            self.decision(ran),
            self.costs(own, served, over, end, self.decision(ran)),
        )

    def costs(self, own: list[Victim], served: list[bool], over: float, end: float, plan: str) -> Costs:
        """The amounts, from the whole history again."""
        for_nothing = [
            each
            for each, serves in zip(own, served, strict=True)
            if not serves and self.now >= min(each.at + EPISODE, over)
        ]
        broken = [left for group in ("u0", GROUP.uid) for left in self.remainders(group)]
        idle = [left.idle(self.now) for left in broken if left.breaker.uid in {each.uid for each in own}]
        pieces = [each for each in self.pieces(self.now) if each[0] < end]
        lasts = sum(until - since for since, until, _ in pieces) >= 1.0
        elsewhere = [(left.breaker.at, left.end) for left in self.remainders(self.owner.uid)]
        held = sum(
            amount
            * (
                until
                - since
                - sum(max(0.0, min(until, last) - max(since, first)) for first, last in elsewhere)
            )
            for since, until, amount in pieces
        )
        ours = next(
            (each.decision.ours for each in self.history if each.decision and each.decision.uid == plan),
            Lost(),
        )
        return Costs(
            served_nobody={DEVICE: round(sum(map(self.work, for_nothing)))},
            idle_remainders={DEVICE: round(sum(idle))},
            held_in_pieces={DEVICE: round(held if lasts else 0.0)},
            victims={DEVICE: round(sum(map(self.work, own)))},
            ours={DEVICE: round(ours.amounts.get(DEVICE, 0.0))},
            unknown=sum(each.usage is None for each in own),
            unknown_ours=ours.unknown,
        )

    def work(self, victim: Victim) -> float:
        """What the victim loses: not what it held while its group was broken, or in pieces."""
        if victim.usage is None:
            return 0.0
        until = victim.at
        for left in self.remainders(victim.group):
            if left.breaker.at < victim.at < left.end:
                until = min(until, left.breaker.at)
        for owner in OWNERS:
            if owner.uid == victim.group:
                before = Naive([each for each in self.history if each.at <= victim.at], owner, victim.at)
                first = victim.at
                for since, last, _ in reversed(before.pieces(victim.at)):
                    if last < first:
                        break
                    first = since
                until = min(until, first)
        return max(0.0, until - victim.usage.since) * victim.usage.requests[DEVICE]

    def pieces(self, now: float) -> list[tuple[float, float, int]]:
        """When it was in pieces: from, until, and what it held."""
        standings = self.standings()
        ends = [*(at for at, _ in standings[1:]), now]
        spans = zip(standings, ends, strict=True)
        return [
            (at, until, each.held.get(DEVICE, 0))
            for (at, each), until in spans
            if each is not None and each.is_in_pieces and at < inf
        ]

    def remainders(self, group: str) -> list[Left]:
        """All that were left of the group."""
        found = list[Left]()
        for each in self.history:
            is_open = found and each.at < found[-1].end
            if each.victim is not None and group and each.victim.group == group and not is_open:
                found.append(Left(each.victim, each.at + EPISODE))
            elif each.stayed is not None and each.owner == group and is_open:
                found[-1].tell(each.stayed, each.at)
        return found

    def lost(self, ran: dict[str, float], began: float, end: float) -> int:
        count = 0
        for each in self.victims:
            when, _ = self.attributed(each)
            expired = each.at + EPISODE
            in_time = ran.get(each.node, inf) < expired and self.exists() < expired
            is_there = in_time if self.now >= expired else ran.get(each.node, inf) <= self.now
            is_there = is_there and self.now >= each.at + LATE_SECONDS
            count += when > self.now and began <= each.at <= end and is_there
        return count

    def decision(self, ran: dict[str, float]) -> str:
        """The UID of the plan that counts."""
        found = ""
        for each in self.history:
            if each.decision is None or each.owner != self.owner.uid:
                continue
            begun = any(at <= each.at for at in ran.values()) or any(
                who == self.owner.uid and when <= each.at for when, who in map(self.attributed, self.victims)
            )
            if not found or not begun:
                found = each.decision.uid
        return found


def view(case: Case, ledger: Ledger, now: float) -> tuple[Any, ...]:
    said: Instead = said_of(case, ledger.unattributed(case, now), now)
    return (
        said.victims.pods,
        said.victims.units,
        said.groups_broken,
        said.served_nobody,
        said.bound,
        said.unattributed,
        case.decision.uid if case.decision is not None else "",
        said.costs,
    )


def equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether both say the same. Amounts may differ by a thousandth of a second of a device."""
    for line in LINES:
        amounts = [getattr(each[-1], line).get(DEVICE, 0) for each in (one, other)]
        if abs(amounts[0] - amounts[1]) > 1:
            return False
    unknown = [(each[-1].unknown, each[-1].unknown_ours) for each in (one, other)]
    return one[:-1] == other[:-1] and unknown[0] == unknown[1]


@settings(max_examples=300)
@given(STEPS)
def test_the_ledger_is_the_recomputation_of_the_whole_history(steps: list[tuple[float, Step]]) -> None:
    history, told = history_of(apart(steps)), Told()
    for now in ticks_of(history):
        for seen in history:
            if seen.at == now:
                told.tell(seen)
        told.pass_time(now)
        for owner in OWNERS:
            cases = [each for each in told.ledger if each.owner == owner]
            if cases and owner.uid not in told.concluded:
                past = [each for each in history if each.at <= now]
                seen_of, all_of = view(cases[0], told.ledger, now), Naive(past, owner, now).said()
                assert equal(seen_of, all_of), f"{seen_of} is not {all_of}"
        told.wait(now)


def apart(steps: list[tuple[float, Step]]) -> list[tuple[float, Step]]:
    """No two things happen at the same time: what comes first then is not defined."""
    return [(wait + 0.001 * (1 + number % 7) + 0.0001, step) for number, (wait, step) in enumerate(steps)]


@given(STEPS)
def test_each_victim_counts_once_and_nothing_is_kept(steps: list[tuple[float, Step]]) -> None:
    history, told = history_of(steps), Told()
    for seen in history:
        told.tell(seen)
        told.wait(seen.at)
    now = history[-1].at if history else 0.0
    for owner in OWNERS:
        told.tell(Seen(now, "stand", owner.uid, None))
    for _ in range(4):  # a victim that is judged begins a case, which ends later
        now += EPISODE + LATE_SECONDS
        told.wait(now)
    told.ledger.hinted([], OWNERS[0], now + 2 * HINT_SECONDS)
    victims = [each.victim.uid for each in history if each.victim is not None]
    assert sorted(told.counted + told.lost) == sorted(victims)
    assert len(told.ledger) == 0
