"""What `reprieve report` says: the scheduler's evictions beside those that reprieve would have made."""

from __future__ import annotations

from typing import Any, Final

from hack.pictures.recordings import ReportRecording
from hack.pictures.svg import MARGIN, WIDTH, Picture, Theme

__all__ = ["draw"]

ROW: Final = 76
BARS: Final = 190
LONGEST: Final = 300


def draw(recording: ReportRecording, theme: Theme) -> str:
    """The picture as SVG."""
    report: dict[str, Any] = recording.report
    rows = report["rows"]
    height = 112 + len(rows) * ROW + 26
    picture = Picture(WIDTH, height, theme, title=report["answer"])
    picture.text(MARGIN, 26, "$ reprieve report --by gang", size=13, fill=theme.quiet)
    below = picture.paragraph(MARGIN, 54, WIDTH - 2 * MARGIN, report["answer"], size=16)
    most = max(max(row["scheduler"]["pods"], row["ours"]["pods"]) for row in rows)
    for number, row in enumerate(rows):
        _row(picture, below + 8 + number * ROW, row, most)
    picture.note(
        f"Recorded with kube-scheduler {recording.kubernetes} on {recording.date}, beside an observer: reprieve "
        "evicted nobody."
    )
    return str(picture)


def _row(picture: Picture, y: float, row: dict[str, Any], most: int) -> None:
    theme, scheduler = picture.theme, row["scheduler"]
    picture.line(MARGIN, y, WIDTH - MARGIN, y, stroke=theme.line)
    picture.text(MARGIN, y + 28, row["name"], size=14, bold=True)
    picture.text(MARGIN, y + 48, _bound(scheduler), size=12, fill=theme.quiet)
    for number, (who, pods, fill) in enumerate(
        (
            ("evicted", scheduler["pods"], theme.lost),
            ("reprieve would evict", row["ours"]["pods"], theme.gang),
        )
    ):
        top = y + 12 + number * 28
        width = max(2.0, LONGEST * pods / most) if pods else 0.0
        if width:
            picture.box(BARS, top, width, 20, fill=fill, radius=2)
        who = f"the scheduler {who}" if number == 0 else who
        label = f"{pods}"
        picture.text(BARS + width + 8, top + 15, label, size=13, bold=True)
        picture.text(BARS + width + 16 + 8 * len(label), top + 15, who, size=12, fill=theme.quiet)
    for number, fact in enumerate(_facts(scheduler)):
        picture.text(WIDTH - MARGIN, y + 27 + number * 20, fact, size=13, fill=theme.lost, anchor="end")


def _bound(scheduler: dict[str, Any]) -> str:
    return "it ran" if scheduler["bound"] else "it never ran"


def _facts(scheduler: dict[str, Any]) -> list[str]:
    found = []
    if scheduler["servedNobody"]:
        found.append(f"{scheduler['servedNobody']} evicted in vain")
    if scheduler["groupsBroken"]:
        found.append(f"{scheduler['groupsBroken']} groups broken")
    if scheduler["inPiecesSeconds"]:
        found.append(f"in pieces for {scheduler['inPiecesSeconds']} s")
    return found
