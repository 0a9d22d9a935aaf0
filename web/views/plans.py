"""Stored plans."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import web

from answers.errors import InputError
from answers.names import right
from answers.stored.about import about
from answers.stored.listed import plans
from api.clock import Clock
from api.times import rfc3339_micro
from web.answering import Answering
from web.errors import forbidden, not_found
from web.questions import names_of, namespaces_of, preemptor_of
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.shared import Shared
from web.sources.source import Seen
from web.versions import version_for
from web.wire.plans import PlanAnswer, Plans

__all__ = ["PlansView"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which list of plans. Equal ones are made once."""

    version: str
    trouble: str
    granted: Granted
    namespaces: tuple[str, ...]


class PlansView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering, executor: Executor, clock: Clock) -> None:
        self._reading, self._answering = reading, answering
        self._lists = Shared[Asked, dict[str, Any]](executor, clock)

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
        reader, namespaces = await self._reading(request), namespaces_of(request.query)
        preemptor = preemptor_of(request.query)
        source = self._answering.source

        async def made(granted: Granted) -> dict[str, Any]:
            self._answering.check_ready()
            asked = Asked(source.version, source.trouble, granted, namespaces)
            return await self._lists.get(asked, self._list_of(asked))

        answer = await self._answering.with_rights(reader, namespaces, made)
        if preemptor is not None:
            answer = {**answer, "plans": [each for each in answer["plans"] if _is_for(each, preemptor)]}
        return json_answer(answer)

    async def plan(self, request: web.Request) -> web.StreamResponse:
        """GET plans/NAMESPACE/NAME. Raises Refused: for a missing right before anybody looks for the plan."""
        reader, asked = await self._reading(request), request.match_info
        source = self._answering.source
        namespace, name = names_of(asked["namespace"], asked["name"], is_live=source.is_live)

        async def made(granted: Granted) -> dict[str, Any]:
            may = granted.lists("preemptionplans", namespace), granted.lists("dispatchplans", namespace)
            if not any(may):
                raise forbidden(right("preemptionplans", namespace))
            self._answering.check_ready()
            version, trouble, moment = source.version, source.trouble, source.now()
            make = partial(_about, source.picture(), moment, namespace, name, granted)
            try:
                answer = await self._answering.run(make)
            except InputError as error:
                # There may be a plan of this name that the reader may not see.
                raise (
                    not_found(str(error)) if all(may) else forbidden(_other_right(granted, namespace))
                ) from None
            return {**_head(version, granted, moment, trouble), **answer}

        namespaces = {*namespaces_of(request.query), namespace}
        return json_answer(await self._answering.with_rights(reader, namespaces, made))

    def _list_of(self, asked: Asked) -> Callable[[], dict[str, Any]]:
        """Makes the list, of what is there now."""
        source = self._answering.source
        return partial(_plans, source.picture(), source.now(), asked)


def _plans(seen: Seen, moment: int, asked: Asked) -> dict[str, Any]:
    found = plans(seen.at(moment), seen.plans, asked.granted, asked.namespaces or None)
    return {**_head(asked.version, asked.granted, moment, asked.trouble), **found.plain()}


def _about(seen: Seen, moment: int, namespace: str, name: str, granted: Granted) -> dict[str, Any]:
    return about(seen.at(moment), seen.plans, namespace, name, granted).plain()


def _head(version: str, granted: Granted, moment: int, trouble: str) -> dict[str, Any]:
    return {
        "version": version_for(version, granted),
        "moment": rfc3339_micro(moment / 1e6),
        "trouble": trouble,
    }


def _other_right(granted: Granted, namespace: str) -> str:
    lacks_plans = not granted.lists("preemptionplans", namespace)
    return right("preemptionplans" if lacks_plans else "dispatchplans", namespace)


def _is_for(row: dict[str, Any], preemptor: tuple[str, str, str]) -> bool:
    its = row["preemptor"]
    return (its["kind"].lower(), its["namespace"], its["name"]) == preemptor
