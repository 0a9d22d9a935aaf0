"""Queues as text for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from answers.queue import OneQueue
from api.kueue import LocalQueue
from api.unmodelled import doubted
from api.words import counted
from api.workloads import PreemptionReason
from cli.common.output import line, plain_table, title, with_rest
from quota.answers.accounts import Account
from quota.answers.overview import NodeOverview, Overview, TriedAlone
from quota.answers.pod_counts import counts_of, in_part
from quota.answers.reclaims import HIGHEST, Reclaim
from quota.cycle.entries import Outcome
from quota.state.amounts import shown
from quota.state.statuses import Tally
from quota.state.workloads import effective_priority, key_of

__all__ = ["render", "render_queue"]

RULES: Final[dict[PreemptionReason, str]] = {
    "InCohortReclamation": "reclaimWithinCohort",
    "InCohortReclaimWhileBorrowing": "borrowWithinCohort",
    "InCohortFairSharing": "fair sharing",
}
OUTCOMES: Final[dict[Outcome, str]] = {
    "Admit": "it fits",
    "Preempt": "it preempts {victims}",
    "DeferredFit": "it fits once others are gone",
    "Gated": "its preemption gate is closed; it would preempt {victims}",
    "NoCandidates": "no workload may be preempted for it. {message}",
    "NoFit": "no room. {message}",
    "Skip": "{message}",
    "Inadmissible": "{message}",
}
MAX_WAITING: Final = 20
MAX_VICTIMS: Final = 10
QUOTA: Final = ("flavor", "resource", ">quota", ">used", ">borrowed", ">lent", ">free")


def render(everything: Overview, priority: int) -> RenderableType:
    """All trees. `priority` is that of the Workloads that take quota back."""
    parts: list[RenderableType] = []
    for tree in everything.trees:
        parts += [Text(), *_tree(tree)] if parts else _tree(tree)
    if not parts:
        parts.append(Text("There is no ClusterQueue.", "bold"))
    parts += _reclaims("Who could take quota back", everything.reclaims, priority)
    return Group(*parts)


def render_queue(answer: OneQueue, priority: int) -> RenderableType:
    """One ClusterQueue, and the LocalQueue that was asked for."""
    one, local = answer.one, answer.local
    name = one.queue.name
    numbers = answer.counts.cluster_queue(name)
    head = [Text.assemble((f"ClusterQueue {name}", "bold"), f", in {one.path}")]
    head += [Text(f"  It is not active: {one.queue.inactive}", "red")] if one.queue.inactive else []
    said = [line(f"With quota: {counted(numbers.reserving, 'Workload')}. Waiting: {len(one.waiting)}.")]
    parts: list[RenderableType] = [*head, *said]
    if local is not None:
        parts.append(_local(local, name, answer.counts))
    parts += [title("Quota"), _quota(one.accounts), *_limits(one.accounts)]
    if one.waiting:
        parts += [title("Who waits"), _waiting(one.waiting)]
    parts += _reclaims("What it could take back", one.takes, priority)
    parts += _reclaims("What others could take from it", one.loses, priority, only=name)
    return Group(*parts)


# ---- quota


def _tree(tree: Sequence[NodeOverview]) -> Iterator[RenderableType]:
    root = tree[0]
    heading = f"Cohort {root.name}" if root.is_cohort else f"ClusterQueue {root.name}, without a Cohort"
    yield Text(heading, "bold")
    table = plain_table("queue", *QUOTA, ">waiting")
    for node in tree:
        table_rows = [_amounts(each) for each in node.accounts] or [("", "", "", "", "", "", "")]
        name = Text(f"{'  ' * node.depth}{node.name}{'/' if node.is_cohort else ''}", "cyan")
        for index, amounts in enumerate(table_rows):
            waiting = str(node.waiting) if index == 0 and not node.is_cohort else ""
            table.add_row(name if index == 0 else "", *amounts, waiting)
    yield table
    for node in tree:
        if node.inactive:
            yield line(f"{node.name} is not active: {node.inactive}", "red")


def _quota(accounts: Iterable[Account]) -> RenderableType:
    table = plain_table(*QUOTA)
    for each in accounts:
        table.add_row(*_amounts(each))
    return table


def _amounts(each: Account) -> tuple[str, ...]:
    least, most = shown(each.resource, each.lent.least), shown(each.resource, each.lent.most)
    amounts = (each.quota, each.used, each.borrowed)
    return (
        each.flavor,
        each.resource,
        *(shown(each.resource, amount) for amount in amounts),
        least if least == most else f"{least} to {most}",
        shown(each.resource, each.free),
    )


def _limits(accounts: Iterable[Account]) -> Iterator[RenderableType]:
    for each in accounts:
        limits = {"borrows": each.borrowing_limit, "lends": each.lending_limit}
        for verb, limit in limits.items():
            if limit is not None:
                amount = f"{shown(each.resource, limit)} {each.resource}"
                yield line(f"It {verb} at most {amount} in flavor {each.flavor}.", "dim")


def _local(local: LocalQueue, queue: str, counts: Tally) -> RenderableType:
    key = f"{local.metadata.namespace}/{local.metadata.name}"
    numbers = counts.local_queue(key, queue)
    held = ", ".join(
        f"{shown(resource, amount)} {resource} in flavor {flavor}"
        for (flavor, resource), amount in sorted(numbers.reservation.items())
    )
    stopped = "" if local.spec.stop_policy == "None" else f" It is stopped ({local.spec.stop_policy})."
    return line(
        f"With quota in LocalQueue {key}: {counted(numbers.reserving, 'Workload')}"
        f"{f', which hold {held}' if held else ''}.{stopped}"
    )


# ---- who waits


def _waiting(entries: Sequence[TriedAlone]) -> RenderableType:
    table = plain_table("Workload", ">priority", "if it is tried alone")
    for tried in entries[:MAX_WAITING]:
        entry = tried.entry
        targets = entry.decision.targets if entry.decision is not None else ()
        victims = _some([target.holder.key for target in targets])
        part = in_part(counts_of(entry.decision)) if entry.decision is not None else ""
        said = OUTCOMES[entry.outcome].format(victims=victims, message=entry.message)
        said += f" (partial admission: {part})" if part else ""
        said = doubted(said, tried.doubts)
        name = Text(key_of(entry.workload), "yellow")
        table.add_row(name, str(effective_priority(entry.workload)), said)
    return with_rest(table, len(entries) - MAX_WAITING)


def _some(names: Sequence[str]) -> str:
    more = len(names) - MAX_VICTIMS
    return ", ".join(names[:MAX_VICTIMS]) + (f" and {more} more" if more > 0 else "")


# ---- who could take it back


def _reclaims(
    heading: str, reclaims: Sequence[Reclaim], priority: int, only: str = ""
) -> Iterator[RenderableType]:
    """`only`: name the Workloads of this ClusterQueue alone."""
    if not reclaims:
        return
    yield title(heading)
    for each in reclaims:
        yield line(_sentence(each, priority, named=only != "" or heading.startswith("Who")))
        victims = [
            f"{target.holder.key} ({_held(each, target.holder.usage)} of {target.holder.queue}, "
            f"priority {target.holder.priority}{', leaving already' if target.holder.evicting else ''})"
            for target in each.targets
            if only in ("", target.holder.queue)
        ]
        yield line(f"  from {_some(victims)}", "yellow")


def _held(each: Reclaim, usage: object) -> str:
    amount = usage.get((each.flavor, each.resource), 0) if isinstance(usage, dict) else 0
    return f"{shown(each.resource, amount)} {each.resource}"


def _sentence(each: Reclaim, priority: int, *, named: bool) -> str:
    rules = " and ".join(dict.fromkeys(RULES.get(rule, rule) for rule in each.rules))
    who = f"{each.queue}: " if named else ""
    free = f", {shown(each.resource, each.free)} of it free already" if each.free else ""
    how = "within its nominal quota" if each.within_nominal else "beyond its nominal quota"
    asker = "a Workload" if priority == HIGHEST else f"a Workload of priority {priority}"
    least = f" of priority above {each.above}" if each.above is not None and priority == HIGHEST else ""
    return (
        f"{who}{shown(each.resource, each.amount)} {each.resource} in flavor {each.flavor}{free}, "
        f"{how}, for {asker}{least}, by {rules}"
    )
