"""Asks for a plan. Errors name the place where the object was read."""

from __future__ import annotations

from answers.errors import InputError
from answers.plan import PlanAnswer, plan
from answers.reading.node_objects import NodeObjects
from nodes.answers.picture import NodesPicture
from nodes.search.decision import DecisionError

__all__ = ["ask"]


def ask(objects: NodeObjects, nodes: NodesPicture, preemptor: tuple[str, str], *, pod: bool) -> PlanAnswer:
    """The plan for a namespace and a name. `nodes`: the picture of the objects. Raises InputError."""
    try:
        return plan(nodes, *preemptor, pod=pod)
    except DecisionError as error:
        if place := objects.place(error.subject):
            field = error.field and f"{error.field}: "
            raise InputError(f"{place}: {field}{error.problem}") from None
        is_pod = not pod and objects.place(f"Pod {'/'.join(preemptor)}")
        raise InputError(f"{error} (there is a Pod of that name: --pod)" if is_pod else str(error)) from None
