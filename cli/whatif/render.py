"""What would happen, as text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from answers.what_if.step import Step
from cli.common.output import line, title

__all__ = ["render"]

COLOURS: Final = {"Runs": "bold green", "RunsAfterEvictions": "bold yellow", "RunsInPart": "bold yellow"}


def render(found: Sequence[Step]) -> RenderableType:
    """One part for each object that was submitted."""
    parts: list[RenderableType] = []
    for each in found:
        parts += [Text(), *_step(each)] if parts else _step(each)
    return Group(*parts) if parts else Text("Nothing is submitted that needs room.")


def _step(step: Step) -> Iterator[RenderableType]:
    head = Text()
    head.append(step.outcome, COLOURS.get(step.outcome, "bold red"))
    head.append(f"  {step.kind} {step.name}", "bold")
    yield head
    yield line(step.sentence)
    if step.quota is not None and step.quota.sentence not in step.sentence:
        yield line(f"Quota: {step.quota.sentence}")
    if step.quota is not None and step.quota.waits_for:
        yield title("Who loses quota")
        yield from map(line, step.quota.waits_for)
    if step.quota_consequences:
        yield title("What becomes of them")
        for wait in step.quota_consequences:
            yield line(f"Workload {wait.name}: {wait.sentence}")
            yield from (line(f"  {each}") for each in wait.waits_for)
    if step.consequences:
        yield title("Victims, and what becomes of them")
        for each in step.consequences:
            yield line(f"{each.unit}: {each.sentence}", "" if each.fits else "red")
            yield from (line(f"  {evicted}", "yellow") for evicted in each.would_evict)
    if step.plan is not None and step.outcome == "Waits" and step.plan.domains:
        yield title("Where")
        for domain in step.plan.domains[:5]:
            yield line(f"{domain.value or 'the cluster'}: {domain.outcome}, {domain.reason}")
