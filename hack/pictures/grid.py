"""The interleaved case: which of the groups lose pods by each way of preempting."""

from __future__ import annotations

from typing import Final

from hack.pictures.recordings import GridRecording, GridWay
from hack.pictures.svg import MARGIN, WIDTH, Picture, Theme

__all__ = ["draw", "words"]

COLUMNS: Final = 25
CELL: Final = 9.0
STEP: Final = 10.6
TOP: Final = 78
TITLES: Final = {
    "stock": "kube-scheduler alone",
    "native": "alone, GenericWorkload on",
    "ours": "with reprieve",
}
WHOLE: Final = "x"


def draw(recording: GridRecording, theme: Theme) -> str:
    """The picture as SVG."""
    rows = -(-recording.nodes // COLUMNS)
    height = int(TOP + 80 + rows * STEP + 76)
    said = "; ".join(f"{TITLES[key]}: {words(way)}" for key, way in recording.ways.items())
    picture = Picture(
        WIDTH, height, theme, title=f"A gang of {recording.members} comes to full nodes. {said}"
    )
    picture.text(
        MARGIN, 32, f"{recording.nodes} full nodes. A gang of {recording.members} comes.", size=19, bold=True
    )
    picture.text(
        MARGIN,
        54,
        "Each square is a running group of ten pods, which works only as a whole. Each group is on ten nodes, "
        "and ten groups share them.",
        size=13,
        fill=theme.quiet,
    )
    panel = (WIDTH - 4 * MARGIN) / 3
    for number, (key, way) in enumerate(recording.ways.items()):
        x = MARGIN + number * (panel + MARGIN)
        _panel(picture, x, TITLES[key], way)
    _legend(picture, height - 42)
    picture.note(
        f"Recorded with kube-scheduler {recording.kubernetes} on {recording.date}. All members ran in each case. "
        "The load is that of python -m bench gang."
    )
    return str(picture)


def words(way: GridWay) -> str:
    """What was evicted."""
    return f"{_pods(way):,} pods evicted, {_fate(way)}"


def _pods(way: GridWay) -> int:
    return sum(10 if each == WHOLE else int(each) for each in way.evicted)


def _broken(way: GridWay) -> int:
    return sum(each not in ("0", WHOLE) for each in way.evicted)


def _fate(way: GridWay) -> str:
    whole, broken = way.evicted.count(WHOLE), _broken(way)
    parts = [f"{whole} groups whole"] if whole else []
    return " and ".join([*parts, *([f"{broken} groups broken"] if broken else [])])


def _panel(picture: Picture, x: float, title: str, way: GridWay) -> None:
    theme, y = picture.theme, TOP
    picture.text(x, y + 12, title, size=14, fill=theme.quiet)
    picture.text(x, y + 36, f"{_pods(way):,} pods evicted", size=17, bold=True)
    picture.text(x, y + 56, _fate(way), size=13, fill=theme.quiet)
    places = [
        (x + STEP * (number % COLUMNS), y + 68 + STEP * (number // COLUMNS))
        for number in range(len(way.evicted))
    ]
    for fill, chosen in ((theme.still, "0"), (theme.broken, "123456789"), (theme.lost, WHOLE)):
        found = (place for place, each in zip(places, way.evicted, strict=True) if each in chosen)
        picture.cells(found, CELL, fill=fill)


def _legend(picture: Picture, y: float) -> None:
    theme, x = picture.theme, float(MARGIN)
    for fill, text in (
        (theme.still, "stays"),
        (theme.broken, "broken: some of its pods were evicted, the others cannot work"),
        (theme.lost, "evicted as a whole"),
    ):
        picture.cells([(x, y - 9)], CELL, fill=fill)
        picture.text(x + 15, y, text, size=12.5)
        x += 40 + len(text) * 6.6
