"""`reprieve plan --jsonl`: reads a request from each line and answers with a plan."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from answers.reading.documents import JsonDocument, split_key
from answers.reading.node_objects import NodeObjects
from api.disruption import BudgetPolicy, ScoreTerm, check_terms
from api.meta import Struct
from api.owner_annotations import ByOwner
from api.unmodelled import UNKNOWN
from cli.common.lines import read_line
from cli.plan.asking import ask
from nodes.state.costs import CostRules

__all__ = ["PlanLines", "plan_line"]

DEFAULTS: Final = CostRules()


class Request(Struct):
    """A line: plan for the PodGroup, or the single pod, `for` among these objects."""

    objects: list[msgspec.Raw]
    for_: str = msgspec.field(name="for")
    pod: bool = False
    score_terms: tuple[ScoreTerm, ...] = DEFAULTS.terms
    disruption_budgets: BudgetPolicy = DEFAULTS.budgets
    groups_by_owner: ByOwner | None = None


class PlanLines:
    """Answers lines, and remembers whether a plan was Blocked or Unknown."""

    def __init__(self) -> None:
        self.any_doubted = False

    def __call__(self, line: bytes) -> dict[str, Any]:
        """The answer of `plan_line`."""
        plan = plan_line(line)
        self.any_doubted |= "status" in plan or plan["spec"]["outcome"] == UNKNOWN
        return plan


def plan_line(line: bytes) -> dict[str, Any]:
    """The PreemptionPlan for this request. Raises InputError or FieldError."""
    request = read_line(line, Request)
    check_terms(request.score_terms, "scoreTerms")
    costs = CostRules(terms=request.score_terms, budgets=request.disruption_budgets)
    objects = NodeObjects(costs, request.groups_by_owner)
    for index, raw in enumerate(request.objects):
        objects.add(JsonDocument(raw), f"objects[{index}]")
    preemptor = split_key(request.for_, "for")
    return ask(objects, objects.picture(), preemptor, pod=request.pod).plain()
