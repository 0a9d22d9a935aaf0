"""Does the account say what schedulers did? `status.instead` of each observed plan, compared with watches alone.

Nothing of the ledger is used: `account_cases` computes each case anew. Numbers have to be exact. Only what reprieve saw
LAG_SECONDS earlier or later than this watch may make a difference. Seconds may differ by LAG_SECONDS and one more, and
those in pieces by one more for each spell.

A case is steady if one process led all the time: the watch of the Lease tells that. Otherwise the account may say that
it knows less (Unknown), and a part of the numbers is not compared. It never says more than there was. All plans of a
preemptor together never have more victims than there were. What is written is up to SAY_SECONDS old.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

from tests.kit.stress.account_cases import VIEWS, Preemptor, Tally, tallies
from tests.kit.stress.history import LAG_SECONDS, History, Json, State, name_of
from tests.kit.stress.preempted import Taken, stands_of, taken

__all__ = ["Verdict", "judge"]

SAY_SECONDS: Final = 15.0
"""After what happens, the plan says so: a plan is written every ten seconds at most."""
STEADY_SECONDS: Final = 2.5
"""A leader renews its Lease more often."""
LEASE: Final = "reprieve-system/reprieve"
PIECES_SECONDS: Final = 1.0
"""For less a gang is not in pieces."""

Span = tuple[float, float]


@dataclass
class Verdict:
    """What is wrong, and how much was compared."""

    violations: list[str] = field(default_factory=list)
    plans: int = 0
    """That say something."""
    steady: int = 0
    """Those whose case one leader saw from the beginning to the end."""
    victims: int = 0
    """Pods that were preempted for the preemptors of these plans in their time, and those for nobody who is known."""
    unknown: int = 0
    """Those of them that belong to a plan that says Unknown or nothing, and those for nobody who is known."""
    unnamed: int = 0
    """Others whose namespace was being deleted. API servers take no event there, so nobody is named."""

    @property
    def share(self) -> float:
        """Of the unknown ones among the victims."""
        return self.unknown / self.victims if self.victims else 0.0

    def __str__(self) -> str:
        return (
            f"{self.plans} plans say what the scheduler did, {self.steady} of them under one leader; "
            f"{self.victims} victims, {self.unknown} unknown ({self.share:.1%}), "
            f"{self.unnamed} more in namespaces that were being deleted, {len(self.violations)} violations"
        )


class Range(NamedTuple):
    """Both ends included."""

    low: float
    high: float

    def has(self, value: float) -> bool:
        """Whether the value is possible."""
        return self.low <= value <= self.high

    def wider(self, below: float, above: float) -> Range:
        """Both ends moved."""
        return Range(self.low - below, self.high + above)


@dataclass(frozen=True)
class _Plan:
    """An observed plan."""

    states: list[State]

    @property
    def uid(self) -> str:
        return str(self.states[0].body["metadata"]["uid"])

    @property
    def preemptor(self) -> str:
        return str(self.states[0].body["spec"]["preemptor"]["uid"])

    @property
    def said(self) -> list[Json]:
        """What it said of the scheduler, in order."""
        found: list[Json] = []
        for each in self.states:
            said = (each.body.get("status") or {}).get("instead")
            if said is not None and (not found or said != found[-1]):
                found.append(said)
        return found

    def goes_on(self, first: float, last: float) -> bool:
        """Whether it said at some time between these two that it is not concluded."""
        stored = [each for each in self.states if each.at <= first][-1:]
        stored += [each for each in self.states if first < each.at <= last]
        said = [(each.body.get("status") or {}).get("instead") for each in stored if not each.gone]
        return any(each is not None and not each["concluded"] for each in said)

    @property
    def is_changed(self) -> bool:
        conditions = (self.states[-1].body.get("status") or {}).get("conditions") or ()
        return any((each["type"], each["reason"]) == ("Observed", "Changed") for each in conditions)

    @property
    def left_at(self) -> float:
        """When it was gone; inf if it is there."""
        return self.states[-1].at if self.states[-1].gone else inf

    def __str__(self) -> str:
        return name_of(self.states[0].body)


def judge(history: History, episode: float, until: float) -> Verdict:
    """Judge all observed plans. `episode`: observing.episodeSeconds. `until`: when the history ended."""
    verdict, steady = Verdict(), _Steady(history)
    everybody = taken(history)
    loose = [each for each in everybody if not each.preemptors]
    plans: dict[str, list[_Plan]] = {}
    for states in history.states["PreemptionPlan"].values():
        if states[0].body["spec"].get("mode") == "Observe":
            plan = _Plan(states)
            plans.setdefault(plan.preemptor, []).append(plan)
    for uid, its in plans.items():
        one = _One(history, uid, its, everybody, loose, episode)
        for plan in its:
            _judge(verdict, one, plan, steady, until)
        verdict.violations += one.counted_twice()
    past = [each for each in loose if each.at <= until - SAY_SECONDS]  # of others, the event may still come
    verdict.unnamed = sum(_goes_with_its_namespace(history, each) for each in past)
    verdict.victims += len(past) - verdict.unnamed
    verdict.unknown += len(past) - verdict.unnamed
    return verdict


def _goes_with_its_namespace(history: History, victim: Taken) -> bool:
    """Whether the namespace of the pod was being deleted when its event was to be written."""
    names = {each.body["metadata"]["namespace"] for each in history.of("Pod", victim.uid)}
    return any(
        state.at <= victim.at + LAG_SECONDS
        and (state.gone or state.body["metadata"].get("deletionTimestamp"))
        for states in history.states["Namespace"].values()
        for state in states
        if state.body["metadata"]["name"] in names
    )


class _Steady:
    """When everything was seen: by one leader without a break, and by the watches of this history."""

    def __init__(self, history: History) -> None:
        self._history, self._spans = history, _led(history)

    def has(self, first: float, last: float) -> bool:
        """Whether all of this time is such."""
        versions = self._history.version_at(first), self._history.version_at(last) + 1
        is_led = any(
            begin <= first
            and last <= end + STEADY_SECONDS
            and not any(end < each <= last for each, _ in self._spans)
            for begin, end in self._spans
        )
        return is_led and not self._history.has_gap(*versions)

    def until(self, first: float, last: float) -> float:
        """Up to when everything was seen that happened from `first` on, `last` at most."""
        ends = [min(last, end) for begin, end in self._spans if begin <= first <= end]
        return ends[0] if ends and self.has(first, ends[0]) else first


def _led(history: History) -> list[Span]:
    spans: list[tuple[str, float, float]] = []
    for states in history.states["Lease"].values():
        if name_of(states[0].body) != LEASE:
            continue
        for state in states:
            holder = "" if state.gone else state.body["spec"].get("holderIdentity") or ""
            term = f"{holder} {state.body['spec'].get('leaseTransitions', 0)}"
            if spans and spans[-1][0] == term and state.at - spans[-1][2] <= STEADY_SECONDS:
                spans[-1] = (term, spans[-1][1], state.at)
            elif holder:
                spans.append((term, state.at, state.at))
    return [(first, last) for _, first, last in spans]


class _One:
    """One preemptor, and all its plans."""

    def __init__(
        self,
        history: History,
        uid: str,
        plans: Sequence[_Plan],
        victims: Sequence[Taken],
        loose: Sequence[Taken],
        episode: float,
    ) -> None:
        self.plans, self._episode = plans, episode
        stands = stands_of(history, uid)
        came = [(each.states[0].at, each.uid) for each in plans]
        self.possible = [each for each in victims if uid in each.preemptors]
        self.loose = [*loose, *(each for each in self.possible if len(each.preemptors) > 1)]
        """Pods that may have been preempted for it, or for somebody else."""
        certain = [each for each in self.possible if len(each.preemptors) == 1]
        ways = [certain] if len(certain) == len(self.possible) else [certain, self.possible]
        self._ways = [Preemptor(stands, came, each) for each in ways]

    def cases(self, plan: _Plan, *times: float) -> Iterator[tuple[Tally, float]]:
        """The case to which a plan belongs, as of each of these times, by each way of seeing it."""
        for way in self._ways:
            for view in VIEWS:
                for at in times:
                    for each in tallies(way, view, at, self._episode):
                        if each.plan == plan.uid:
                            yield each, at

    def about(self, plan: _Plan, at: float) -> list[tuple[Tally, float]]:
        """The case as reprieve may have seen it at a time: its plan maybe sooner than pods that went before that."""
        came = plan.states[0].at
        found = list(self.cases(plan, at - LAG_SECONDS, at, at + LAG_SECONDS + 1.0))
        early = list(self.cases(plan, came)) if came > at - LAG_SECONDS else []
        return [*found, *((each.without(at - LAG_SECONDS), at) for each, _ in early)]

    def least(self, plan: _Plan, at: float) -> int:
        """How many pods at least were preempted for it until a time; 0 if it need not be the plan that counts."""
        return min(
            sum(len(each.victims) for each in tallies(way, view, at, self._episode) if each.plan == plan.uid)
            for way in self._ways
            for view in VIEWS
        )

    def is_of_another(self, plan: _Plan) -> bool:
        """Whether it was made while another plan said that it goes on: what was decided until then belongs to that."""
        came = plan.states[0].at
        return any(other.goes_on(came, came + LAG_SECONDS) for other in self.plans if other is not plan)

    def counted_twice(self) -> list[str]:
        """All plans together say more than there was."""
        said = sum(each.said[-1]["victims"]["pods"] for each in self.plans if each.said)
        most = len(self.possible) + len(self.loose)
        if said <= most:
            return []
        return [f"{', '.join(map(str, self.plans))}: {said} victims in all, but there were {most}"]


def _judge(verdict: Verdict, one: _One, plan: _Plan, steady: _Steady, until: float) -> None:
    said = plan.said
    if not said:
        settled = list(one.cases(plan, min(until, plan.left_at) - SAY_SECONDS))
        least = one.least(plan, min(until, plan.left_at) - SAY_SECONDS)
        if not least:
            return
        verdict.victims += least
        verdict.unknown += least
        if not one.is_of_another(plan) and steady.has(
            min(each.began for each, _ in settled), max(at for _, at in settled)
        ):
            verdict.violations.append(
                f"{plan} says nothing, but {least} pods were preempted for its preemptor"
            )
        return
    last, at = said[-1], _when(said[-1])
    found = one.about(plan, at)
    began = min((each.began for each, _ in found), default=min(each.states[0].at for each in one.plans))
    is_steady = steady.has(began - LAG_SECONDS, at + LAG_SECONDS)
    most = max((len(each.victims) for each, _ in found), default=0)
    verdict.plans += 1
    verdict.steady += is_steady
    verdict.victims += most
    verdict.unknown += most if last["state"] == "Unknown" else 0
    wrong = [*_unsteadily_said(said)]
    if not found:
        wrong += ["another plan of its preemptor counts"] if is_steady else []
    else:
        expected = _Expected(found, one.loose)
        wrong += expected.too_much(last, 0 if is_steady else len(one.possible))
        for each in said[:-1]:
            wrong += _wrong_before(one, plan, each, steady)
        if last["state"] != "Unknown":
            wrong += expected.too_little(last)
            wrong += [f"state {last['state']}"] if (last["state"] == "Changed") != plan.is_changed else []
        if is_steady:
            wrong += expected.deviations(last)
        wrong += _too_old(one, plan, said, steady.until(began, min(until, plan.left_at)))
    verdict.violations += [f"{plan}: {each}; it says {_told(last)}" for each in wrong]


def _told(said: Json) -> str:
    return ", ".join(f"{key} {value}" for key, value in said.items())


def _unsteadily_said(said: Sequence[Json]) -> Iterator[str]:
    """What is said once is not taken back."""
    for before, after in pairwise(said):
        if after["victims"]["pods"] < before["victims"]["pods"]:
            yield f"first {before['victims']['pods']} victims, then {after['victims']['pods']}"
        if before["concluded"]:
            yield "it was concluded before, and said something else"
        if before["bound"] and not after["bound"]:
            yield "it was bound before"


def _wrong_before(one: _One, plan: _Plan, said: Json, steady: _Steady) -> Iterator[str]:
    """What was wrong with something that was said before the last word."""
    at = _when(said)
    found = one.about(plan, at)
    began = min((each.began for each, _ in found), default=at)
    if found and steady.has(began - LAG_SECONDS, at + LAG_SECONDS):
        wrong = [
            *_Expected(found, one.loose).too_much(said, 0),
            *_Expected(found, one.loose).deviations(said),
        ]
        yield from (f"as of {said['asOf']}, {each}" for each in wrong)


def _too_old(one: _One, plan: _Plan, said: Sequence[Json], until: float) -> Iterator[str]:
    """It does not say what was known SAY_SECONDS before."""
    settled = list(one.cases(plan, until - SAY_SECONDS))
    known = [each for each in said if _when(each) <= until]
    if not settled or not known:
        return
    last, least = known[-1], min(len(each.victims) for each, _ in settled)
    nobody = min(each.served_nobody(at) for each, at in settled)
    if last["victims"]["pods"] < least:
        yield f"{least} pods were preempted some time ago"
    if last["servedNobody"] < nobody - len(one.loose):
        yield f"it is known for some time that {nobody} pods served nobody"
    if not last["concluded"] and all(each.concluded_at_latest() < at for each, at in settled):
        yield "it should be concluded"


def _when(said: Json) -> float:
    return datetime.fromisoformat(said["asOf"]).timestamp()


class _Expected:
    """The numbers of a case, each as a range."""

    def __init__(self, found: Sequence[tuple[Tally, float]], loose: Sequence[Taken]) -> None:
        self._found = found
        began = min(each.began for each, _ in found) - LAG_SECONDS
        last = max(min(each.end, at) for each, at in found) + LAG_SECONDS
        self.more = [each for each in loose if began <= each.at <= last]
        """Pods that may belong to it: nobody says for whom they were preempted."""
        self.pods = self._range(len(each.victims) for each, _ in found)

    def _range(self, values: Iterable[float]) -> Range:
        values = list(values)
        return Range(min(values), max(values))

    def too_much(self, said: Json, anyway: int) -> Iterator[str]:
        """What the account must never say. `anyway`: how many pods were ever preempted for the preemptor. A new leader
        cannot tell all cases of it apart."""
        victims, more = said["victims"], len(self.more)
        most = max(_units(each.victims).high for each, _ in self._found) + more
        sums = max(_sum(each.victims).high for each, _ in self._found)
        sums += sum(each.priority[1] + 2**31 for each in self.more)
        if victims["pods"] > max(self.pods.high, anyway) + more:
            yield f"at most {max(self.pods.high, anyway)} pods were preempted for it"
        if said["servedNobody"] > victims["pods"]:
            yield "more served nobody than were preempted"
        if said["unattributed"] > more:
            yield f"at most {more} pods were preempted for nobody who is known"
        if anyway:
            return
        if victims["units"] > most:
            yield f"at most {most} units were preempted for it"
        if victims["prioritySum"] > sums:
            yield f"the sum is at most {sums}"

    def too_little(self, said: Json) -> Iterator[str]:
        """What it must not leave out, unless it says so."""
        victims = said["victims"]
        if victims["pods"] < self.pods.low:
            yield f"at least {self.pods.low} pods were preempted for it"
        least = min(_units(each.victims).low for each, _ in self._found)
        if victims["units"] < least:
            yield f"at least {least} units were preempted for it"

    def deviations(self, said: Json) -> Iterator[str]:
        """What one leader has seen from the beginning to the end."""
        more, found = len(self.more), self._found
        if said["state"] == "Unknown":
            yield "everything was there to be seen"
        victims = said["victims"]
        sums = [_sum(each.victims) for each, _ in found]
        yield from _compare("prioritySum", victims["prioritySum"], Range(min(e.low for e in sums), inf))
        broken = [_broken(each.victims) for each, _ in found]
        yield from _compare(
            "groupsBroken",
            said["groupsBroken"],
            Range(min(e.low for e in broken), max(e.high for e in broken)).wider(more, more),
        )
        nobody = self._range(each.served_nobody(at) for each, at in found)
        yield from _compare("servedNobody", said["servedNobody"], nobody.wider(more, more))
        yield from self._highest(victims)
        yield from self._pieces(said)
        yield from self._bound(said)
        if said["concluded"] and all(each.concluded() > at for each, at in found):
            yield "it cannot be concluded yet"

    def _highest(self, victims: Json) -> Iterator[str]:
        of = [each for each, _ in self._found if each.victims]
        if self.more or not of or not self.pods.low:
            return
        least = min(max(each.priority[0] for each in case.victims) for case in of)
        most = max(max(each.priority[1] for each in case.victims) for case in of)
        yield from _compare("highestPriority", victims.get("highestPriority", -inf), Range(least, most))

    def _pieces(self, said: Json) -> Iterator[str]:
        seconds = self._range(each.pieces(at) for each, at in self._found)
        spells = max(each.spells for each, _ in self._found)
        expected = seconds.wider(LAG_SECONDS + 1.0 + spells, LAG_SECONDS + spells)
        if said["inPieces"] and not spells:
            yield "it was never in pieces"
        if not said["inPieces"] and expected.low > PIECES_SECONDS:
            yield f"it was in pieces for {seconds.low:.1f} s"
        if said["concluded"]:  # before, seconds alone are no reason to write
            yield from _compare("inPiecesSeconds", said["inPiecesSeconds"], expected)
        elif said["inPiecesSeconds"] > expected.high:
            yield f"it was in pieces for {seconds.high:.1f} s at most"

    def _bound(self, said: Json) -> Iterator[str]:
        bound = {each.whole < inf for each, _ in self._found}
        if said["bound"] not in bound:
            yield "it was not bound" if said["bound"] else "it was bound"
        since = [
            each.whole - (each.first if each.first is not None else each.began)
            for each, _ in self._found
            if each.whole < inf
        ]
        if said["bound"] and since:
            expected = self._range(since).wider(LAG_SECONDS + 1.0, LAG_SECONDS)
            yield from _compare("secondsUntilBound", said.get("secondsUntilBound", -inf), expected)


def _compare(what: str, value: float, expected: Range) -> Iterator[str]:
    if not expected.has(value):
        yield f"{what} is from {expected.low} to {expected.high}"


def _by_unit(victims: Iterable[Taken]) -> dict[str, list[Taken]]:
    found: dict[str, list[Taken]] = {}
    for each in victims:
        (unit, *others) = each.units
        found.setdefault(each.uid if others else unit, []).append(each)
    return found


def _units(victims: Sequence[Taken]) -> Range:
    """How many units. A pod whose unit is not clear may count for itself, or not."""
    unclear = sum(len(each.units) > 1 for each in victims)
    count = len(_by_unit(victims))
    return Range(count - unclear, count)


def _sum(victims: Sequence[Taken]) -> Range:
    """Of the priorities of units, each plus 2**31."""
    units = _by_unit(victims).values()
    unclear = any(len(each.units) > 1 for each in victims)
    low = sum(min(each.priority[0] for each in pods) + 2**31 for pods in units)
    return Range(0 if unclear else low, sum(max(each.priority[1] for each in pods) + 2**31 for pods in units))


def _broken(victims: Sequence[Taken]) -> Range:
    """Of how many groups a part was preempted."""
    units = _by_unit(victims).values()
    unclear = sum(len(each.units) > 1 for each in victims)
    low = sum(max(each.running[0] for each in pods) > len(pods) for pods in units)
    return Range(
        max(0, low - unclear), sum(max(each.running[1] for each in pods) > len(pods) for pods in units)
    )
