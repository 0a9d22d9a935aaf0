"""Stored plans."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial
from typing import Any

from aiohttp import web

from answers.errors import InputError
from answers.names import right
from answers.stored.about import about
from answers.stored.listed import plans
from api.clock import Clock
from web.answering import Answering
from web.errors import forbidden, not_found
from web.lists import Asked, Lists
from web.questions import names_of, namespaces_of, preemptor_of
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.sources.source import Seen
from web.wire.plans import PlanAnswer, Plans

__all__ = ["PlansView"]


class PlansView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering, executor: Executor, clock: Clock) -> None:
        self._reading, self._answering = reading, answering
        self._lists = Lists(answering, executor, clock, _plans)

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/plans",
                self.plans,
                "All stored plans, or those for one preemptor",
                Plans,
                query=("preemptor", NAMESPACE),
            ),
            Route(
                "GET",
                "/plans/{namespace}/{name}",
                self.plan,
                "All that is known of a PreemptionPlan or a DispatchPlan",
                PlanAnswer,
                query=(NAMESPACE,),
            ),
        )

    async def plans(self, request: web.Request) -> web.StreamResponse:
        """GET plans, of the named namespaces if there are any. Raises Refused."""
        reader, preemptor = await self._reading(request), preemptor_of(request.query)
        answer = await self._lists.answer(reader, namespaces_of(request.query))
        if preemptor is not None:
            answer = {**answer, "plans": [each for each in answer["plans"] if _is_for(each, preemptor)]}
        return json_answer(answer)

    async def plan(self, request: web.Request) -> web.StreamResponse:
        """GET plans/NAMESPACE/NAME. Raises Refused: for a missing right before anybody looks for the plan."""
        reader, match = await self._reading(request), request.match_info
        source = self._answering.source
        namespace, name = names_of(match["namespace"], match["name"], is_live=source.is_live)

        async def made(granted: Granted) -> dict[str, Any]:
            may = granted.lists("preemptionplans", namespace), granted.lists("dispatchplans", namespace)
            if not any(may):
                raise forbidden(right("preemptionplans", namespace))
            self._answering.check_ready()
            asked = Asked.of(source, granted, ())
            make = partial(_about, source.picture(), source.now(), asked, namespace, name)
            try:
                return await self._answering.run(make)
            except InputError as error:
                # There may be a plan of this name that the reader may not see.
                raise (
                    not_found(str(error)) if all(may) else forbidden(_other_right(granted, namespace))
                ) from None

        namespaces = {*namespaces_of(request.query), namespace}
        return json_answer(await self._answering.with_rights(reader, namespaces, made))


def _plans(seen: Seen, moment: int, asked: Asked) -> dict[str, Any]:
    found = plans(seen.at(moment), seen.plans, asked.granted, asked.namespaces or None)
    return {**asked.head(moment), **found.plain()}


def _about(seen: Seen, moment: int, asked: Asked, namespace: str, name: str) -> dict[str, Any]:
    found = about(seen.at(moment), seen.plans, namespace, name, asked.granted)
    return {**asked.head(moment), **found.plain()}


def _other_right(granted: Granted, namespace: str) -> str:
    lacks_plans = not granted.lists("preemptionplans", namespace)
    return right("preemptionplans" if lacks_plans else "dispatchplans", namespace)


def _is_for(row: dict[str, Any], preemptor: tuple[str, str, str]) -> bool:
    its = row["preemptor"]
    return (its["kind"].lower(), its["namespace"], its["name"]) == preemptor
