"""`reprieve quota --jsonl`: reads a scenario from each line and says what becomes of its workload."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from answers.quota_decision import QuotaAnswer
from answers.reading.documents import JsonDocument, split_key
from answers.reading.quota_objects import QuotaObjects, read_time
from api.meta import Struct
from api.validation import FieldError
from cli.common.lines import read_line
from cli.quota.asking import ask
from native.codes import FINAL_SHARE, INITIAL_SHARE
from quota.search.decision import Options

__all__ = ["answer_scenario"]

Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]

STRATEGIES: Final[dict[tuple[Strategy, ...], tuple[int, ...]]] = {
    (): (FINAL_SHARE, INITIAL_SHARE),
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"): (FINAL_SHARE, INITIAL_SHARE),
    ("LessThanOrEqualToFinalShare",): (FINAL_SHARE,),
    ("LessThanInitialShare",): (INITIAL_SHARE,),
}
"""The strategies that Kueue's configuration accepts (preemptionStrategies). Without a strategy, both apply."""


class Scenario(Struct):
    """A line: decide about the Workload `incoming` among these objects."""

    now: str
    objects: list[msgspec.Raw]
    incoming: str
    fair_sharing: bool = False
    fair_sharing_strategies: list[Strategy] | None = None


def answer_scenario(line: bytes, *, time_based: bool = True) -> dict[str, Any]:
    """Mode, flavors, borrowing and targets. Raises InputError or FieldError."""
    scenario = read_line(line, Scenario)
    options = Options(scenario.fair_sharing, _strategies(scenario), time_based)
    now = read_time(scenario.now, "now")
    split_key(scenario.incoming, "incoming")
    objects = QuotaObjects()
    for index, raw in enumerate(scenario.objects):
        objects.add(JsonDocument(raw), f"objects[{index}]")
    return _answer(ask(objects, scenario.incoming, now, options))


def _strategies(scenario: Scenario) -> tuple[int, ...]:
    named = tuple(scenario.fair_sharing_strategies or ())
    if named not in STRATEGIES:
        raise FieldError("fairSharingStrategies", "expected each at most once, LessThanInitialShare last")
    return STRATEGIES[named]


def _answer(answer: QuotaAnswer) -> dict[str, Any]:
    decision = answer.decision
    targets = [{"workload": target.holder.key, "reason": target.reason} for target in decision.targets]
    found = {
        "mode": answer.verdict,
        "flavors": decision.flavors,
        "borrowing": decision.borrowing,
        "targets": targets,
    }
    return found | {"notModelled": list(answer.doubts)} if answer.doubts else found
