"""Checks of `planning.enforcedNamespaceSelector`: what it selects, and whether the webhook for pods does the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from answers.doctor.findings import Finding, fault, note, well
from answers.doctor.kinds import Webhooks
from answers.doctor.seen import Seen
from api.core import NAMESPACE_NAME_LABEL, Namespace
from api.meta import LabelSelector
from api.published import ENFORCED, PROCESS
from api.selectors import check_selector, selects
from api.words import some

__all__ = ["enforced", "gated"]

GATES: Final = f"pods.mutate.{PROCESS}.dev"
"""The name of the webhook that adds scheduling gates to pods."""

Requirement = tuple[str, str, frozenset[str]]
"""Label, operator and values."""


def enforced(seen: Seen, now: float) -> list[Finding]:
    """Which namespaces are enforced, if that is not all or none."""
    selector = _selector(seen)
    if selector is None:
        return []
    spaces = seen.all(Namespace)
    selected = [each.metadata.name for each in spaces if selects(selector, each.metadata.labels or {})]
    if not selected:
        message = "planning.enforcedNamespaceSelector selects no namespace, so reprieve acts nowhere"
        return [fault("namespaces", "NothingEnforced", message)]
    return [well("namespaces", f"{len(selected)} of {len(spaces)} namespaces are enforced: {some(selected)}")]


def gated(seen: Seen, now: float) -> list[Finding]:
    """Whether the webhook adds scheduling gates to pods of the same namespaces. In others they only delay pods."""
    selector = _selector(seen)
    hooks = [
        hook
        for each in seen.all(Webhooks)
        if each.metadata.name.startswith(PROCESS)
        for hook in each.webhooks or ()
        if hook.name == GATES
    ]
    if selector is None or not hooks:
        return []
    wanted, has = set(_requirements(selector)), set(_requirements(hooks[0].namespace_selector))
    if missing := wanted - has:
        message = f"{GATES}: its namespaceSelector lacks {some(sorted(map(_text, missing)))}"
        return [fault("namespaces", "WebhookSelectsOthers", message)]
    more = [each for each in has - wanted if each[:2] != (NAMESPACE_NAME_LABEL, "NotIn")]
    if more:
        said = (
            f"{GATES} requires {some(sorted(map(_text, more)))}, too: pods elsewhere get no scheduling gate"
        )
        return [note("namespaces", said)]
    return [well("namespaces", f"{GATES} selects the same namespaces")]


def _selector(seen: Seen) -> LabelSelector | None:
    """That of the leader; None if all namespaces have the same mode. Text that somebody else wrote says nothing."""
    if seen.planning_mode() != "Enforce":
        return None
    try:
        selector = msgspec.json.decode(seen.published().get(ENFORCED) or "null", type=LabelSelector | None)
        if selector is not None:
            check_selector(selector)
    except ValueError:
        return None
    return selector


def _requirements(selector: LabelSelector | None) -> Iterator[Requirement]:
    if selector is None:
        return
    for label, value in (selector.match_labels or {}).items():
        yield label, "In", frozenset((value,))
    for each in selector.match_expressions or ():
        yield each.key, each.operator, frozenset(each.values or ())


def _text(requirement: Requirement) -> str:
    label, operator, values = requirement
    return f"{label} {operator} ({', '.join(sorted(values))})" if values else f"{label} {operator}"
