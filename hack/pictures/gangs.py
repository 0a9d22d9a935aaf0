"""A gang that comes to full nodes: the scheduler alone beside reprieve."""

from __future__ import annotations

from typing import Final

from hack.pictures.recordings import GangRecording, Side
from hack.pictures.svg import MARGIN, WIDTH, Picture, Theme

__all__ = ["draw"]

PANEL: Final = (WIDTH - 3 * MARGIN) / 2
TOP: Final = 54
ROW: Final = 42
CHIP: Final = 84
CHIP_HEIGHT: Final = 28
LABEL: Final = 70
"""The room for the name of a node."""
NUMBERS: Final = {3: "three", 4: "four"}


def draw(recording: GangRecording, theme: Theme) -> str:
    """The picture as SVG."""
    sides = {"kube-scheduler alone": recording.alone, "with reprieve": recording.ours}
    nodes = sorted(set(recording.alone.before.values()))
    rows = len(nodes) + 1
    inner = 102 + rows * ROW + 52
    height = TOP + inner + 40
    said = " ".join(
        f"{title}: {_pods(side)}. {_fate(side, recording.members)}" for title, side in sides.items()
    )
    size = NUMBERS[recording.members]
    picture = Picture(WIDTH, height, theme, title=f"A gang of {size} comes to three full nodes. {said}")
    heading = f"Three full nodes. A gang of {size} comes: all of it must run, or none."
    picture.text(MARGIN, 32, heading, size=19, bold=True)
    for number, (title, side) in enumerate(sides.items()):
        x = MARGIN + number * (PANEL + MARGIN)
        picture.box(x + 0.5, TOP + 0.5, PANEL - 1, inner, fill=theme.panel, stroke=theme.line, radius=6)
        _side(picture, x + 16, title, side, recording.members, nodes)
    picture.note(
        f"Recorded with kube-scheduler {recording.kubernetes}, default gates, {recording.date}. One GPU on each node, "
        "one for each pod. Priorities: batch 10, train 100."
    )
    return str(picture)


def _pods(side: Side) -> str:
    return f"{len(side.evicted)} pod{'s' if len(side.evicted) != 1 else ''} evicted"


def _fate(side: Side, members: int) -> str:
    bound = _bound(side)
    if bound == members:
        return "The whole gang runs."
    if bound:
        return f"Only {bound} of {members} members run, so none can work."
    return "The gang waits as a whole."


def _bound(side: Side) -> int:
    return sum(node is not None for pod, node in side.pods.items() if pod not in side.before)


def _side(picture: Picture, x: float, title: str, side: Side, members: int, nodes: list[str]) -> None:
    theme, y = picture.theme, TOP
    is_bad = 0 < _bound(side) < members
    picture.text(x, y + 28, title, size=14, fill=theme.quiet)
    ink = theme.lost if is_bad else theme.good
    picture.text(x, y + 54, _pods(side), size=20, bold=True, fill=ink)
    picture.text(x, y + 76, _fate(side, members), size=14, fill=ink)
    for number, node in enumerate(nodes):
        top = y + 96 + number * ROW
        picture.text(x, top + 19, node, fill=theme.quiet)
        _node(picture, x + LABEL, top, node, side)
    top = y + 96 + len(nodes) * ROW
    waiting = sorted(pod for pod, node in side.pods.items() if node is None)
    picture.text(x, top + 19, "waiting", fill=theme.quiet)
    for number, pod in enumerate(waiting):
        _chip(picture, x + LABEL + number * (CHIP - 5), top, pod, width=CHIP - 10, waits=True)
    if not waiting:
        picture.text(x + LABEL, top + 19, "nobody of the gang", fill=theme.quiet)
    if side.why:
        said = f"Its PodGroup says: {side.why}."
        picture.paragraph(x, top + 52, PANEL - 30, said, size=12, fill=theme.quiet)


def _node(picture: Picture, x: float, y: float, node: str, side: Side) -> None:
    here = [pod for pod, where in sorted(side.pods.items()) if where == node]
    gone = [pod for pod in side.evicted if side.before.get(pod) == node]
    picture.box(x - 5, y - 4, PANEL - LABEL - 30, CHIP_HEIGHT + 8, stroke=picture.theme.line, radius=5)
    for pod in here:
        _chip(picture, x, y, pod, gang=pod not in side.before)
        x += CHIP + 10
    for pod in gone:
        _gone(picture, x, y, pod)
        x += CHIP + 74


def _chip(
    picture: Picture,
    x: float,
    y: float,
    pod: str,
    *,
    width: float = CHIP,
    gang: bool = False,
    waits: bool = False,
) -> None:
    theme = picture.theme
    fill = "none" if waits else theme.gang if gang else theme.still
    stroke = theme.gang if waits else ""
    picture.box(x, y, width, CHIP_HEIGHT, fill=fill, stroke=stroke, radius=4, dashed=waits)
    ink = theme.on_gang if gang and not waits else theme.text
    picture.text(x + width / 2, y + 19, pod, size=13, fill=ink, anchor="middle")


def _gone(picture: Picture, x: float, y: float, pod: str) -> None:
    theme, middle = picture.theme, y + CHIP_HEIGHT / 2
    picture.box(x, y, CHIP, CHIP_HEIGHT, stroke=theme.lost, radius=4)
    picture.text(x + CHIP / 2, y + 19, pod, size=13, fill=theme.lost, anchor="middle")
    picture.line(x + 8, middle, x + CHIP - 8, middle, stroke=theme.lost, width=1.5)
    picture.text(x + CHIP + 8, y + 19, "evicted", size=13, fill=theme.lost)
