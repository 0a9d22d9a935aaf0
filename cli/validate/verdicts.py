"""The verdict on a request to write an object, offline: the checks of an API server, then those of the webhook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from api.clock import SYSTEM_CLOCK
from api.times import rfc3339
from api.words import shown
from schema import KNOWN, judge, prepare
from schema.verdict import Verdict
from webhooks import rules
from webhooks.facts import NO_FACTS, Facts, NotSynced
from webhooks.rules import Operation, Request
from webhooks.rules.fields import child
from webhooks.rules.whole_amounts import pod_causes
from webhooks.settings import Settings

__all__ = ["JUDGED", "Context", "Write", "verdict"]

Object = dict[str, Any]

JUDGED: Final[Mapping[str, str]] = {
    **{name: kind.api_version for name, kind in KNOWN.items()},
    "Pod": "v1",
}
"""The kinds that can be judged, with their apiVersion."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a verdict depends on, apart from the request."""

    facts: Facts = NO_FACTS
    settings: Settings = field(default_factory=Settings)
    user: str = ""
    """The user who sends the request; "" if not known."""


@dataclass(frozen=True, slots=True)
class Write:
    """A request to write an object."""

    kind: str
    """A kind of JUDGED."""
    new: Object
    """The object that is sent."""
    old: Object | None = None
    """The stored object; None to create."""
    subresource: str = ""

    @property
    def operation(self) -> Operation:
        """UPDATE if there is an old object, otherwise CREATE."""
        return "CREATE" if self.old is None else "UPDATE"


def verdict(write: Write, context: Context) -> Verdict:
    """The verdict of an API server that has our schemas and our webhook.

    If a rule needs an object that is not among the facts, the verdict has a warning. Of what an API server checks about
    pods, only whole amounts of extended resources are checked.
    """
    if write.kind not in KNOWN:
        request = _request(write, context, write.new, write.old)
        said = rules.validate(replace(request, new=rules.default(request)))
        return Verdict.of([*pod_causes(child(write.new, "spec"), "spec"), *said.causes], said.warnings)
    prepared = prepare(write.kind, write.new, write.old, write.subresource)
    if isinstance(prepared, list):
        return Verdict.of(prepared)
    request = _request(write, context, prepared.new, prepared.old)
    warnings: list[str] = []
    try:
        request = replace(request, new=rules.default(request))
    except NotSynced:
        warnings.append(_not_filled_in(request.new))
    if causes := judge(replace(prepared, new=request.new)):
        return Verdict.of(causes, warnings)
    judged = rules.validate(request)
    return Verdict.of(judged.causes, [*warnings, *judged.warnings])


def _not_filled_in(group: Object) -> str:
    """The warning for a PodGroup. No other kind is completed from another object."""
    name = group["spec"].get("priorityClassName")
    what = f"PriorityClass {shown(name)}" if name else "a PriorityClass with globalDefault"
    return f"spec.priority is not filled in: no file has {what}"


def _request(write: Write, context: Context, new: Object, old: Object | None) -> Request:
    return Request(
        kind=write.kind,
        operation=write.operation,
        new=new,
        old=old,
        subresource=write.subresource,
        user=context.user,
        facts=context.facts,
        settings=context.settings,
        now=rfc3339(SYSTEM_CLOCK.wall()),
    )
