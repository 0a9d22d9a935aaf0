"""A picture as SVG 1.1: rectangles, lines and text, in the colours of a theme. The same calls give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

__all__ = ["DARK", "LIGHT", "MARGIN", "THEMES", "WIDTH", "Picture", "Theme", "lines_of"]

WIDTH: Final = 880
"""Of all pictures."""
MARGIN: Final = 16
FONT: Final = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"
EM: Final = 0.53
"""The mean width of a character, in sizes of the font. A little more than in the fonts above."""


@dataclass(frozen=True)
class Theme:
    """Colours, each with a contrast of 4.5 to 1 where it is text."""

    name: str
    page: str
    """Behind all."""
    panel: str
    line: str
    text: str
    quiet: str
    """Text that matters less."""
    still: str
    """What stays as it is."""
    gang: str
    on_gang: str
    """Text on it."""
    lost: str
    """What is evicted."""
    broken: str
    """What has lost a part."""
    good: str


LIGHT: Final = Theme(
    name="light",
    page="#ffffff",
    panel="#f6f8fa",
    line="#d0d7de",
    text="#1f2328",
    quiet="#59636e",
    still="#d8dee4",
    gang="#0969da",
    on_gang="#ffffff",
    lost="#cf222e",
    broken="#e8871e",
    good="#1a7f37",
)
DARK: Final = Theme(
    name="dark",
    page="#0d1117",
    panel="#151b23",
    line="#3d444d",
    text="#f0f6fc",
    quiet="#9198a1",
    still="#3d444d",
    gang="#4493f8",
    on_gang="#0d1117",
    lost="#f85149",
    broken="#d29922",
    good="#3fb950",
)
THEMES: Final = (LIGHT, DARK)


class Picture:
    """A picture that grows by its methods. All lengths are pixels, from the upper left corner."""

    def __init__(self, width: int, height: int, theme: Theme, *, title: str) -> None:
        """`title`: what one sees, for readers that hear it."""
        self.theme = theme
        self._size = width, height
        self._title = title
        self._parts: list[str] = []
        self.box(0, 0, width, height, fill=theme.page)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        stroke: str = "",
        radius: float = 0,
        dashed: bool = False,
    ) -> None:
        """A rectangle."""
        more = f' rx="{_number(radius)}"' if radius else ""
        more += f' stroke="{stroke}"' if stroke else ""
        more += ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(f'<rect {_place(x, y)} {_extent(width, height)} fill="{fill}"{more}/>')

    def cells(self, places: Iterable[tuple[float, float]], side: float, *, fill: str) -> None:
        """Many squares of one colour, as one path."""
        square = f"h{_number(side)}v{_number(side)}h-{_number(side)}z"
        drawn = "".join(f"M{_number(x)} {_number(y)}{square}" for x, y in places)
        if drawn:
            self._parts.append(f'<path fill="{fill}" d="{drawn}"/>')

    def line(self, x: float, y: float, to_x: float, to_y: float, *, stroke: str, width: float = 1) -> None:
        """A straight line."""
        ends = f'x1="{_number(x)}" y1="{_number(y)}" x2="{_number(to_x)}" y2="{_number(to_y)}"'
        self._parts.append(f'<line {ends} stroke="{stroke}" stroke-width="{_number(width)}"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 14,
        fill: str = "",
        bold: bool = False,
        anchor: str = "start",
    ) -> None:
        """One line of text. `y` is its base line, `anchor` start, middle or end."""
        more = ' font-weight="600"' if bold else ""
        more += f' text-anchor="{anchor}"' if anchor != "start" else ""
        shown = f'font-size="{_number(size)}" fill="{fill or self.theme.text}"{more}'
        self._parts.append(f"<text {_place(x, y)} {shown}>{escape(text)}</text>")

    def paragraph(
        self, x: float, y: float, width: float, text: str, *, size: float = 12, fill: str = ""
    ) -> float:
        """Text in lines that are no wider. Returns the base line of a next one."""
        for line in lines_of(text, width, size):
            self.text(x, y, line, size=size, fill=fill)
            y += size * 1.4
        return y

    def note(self, text: str) -> None:
        """How the picture came about: a small line at its lower edge."""
        self.text(MARGIN, self._size[1] - 14, text, size=11.5, fill=self.theme.quiet)

    def __str__(self) -> str:
        width, height = self._size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family={quoteattr(FONT)} role="img">'
        )
        return "\n".join([head, f"<title>{escape(self._title)}</title>", *self._parts, "</svg>", ""])


def lines_of(text: str, width: float, size: float) -> Iterator[str]:
    """The text in lines of this width at most, if no word is wider."""
    most, line = int(width / (size * EM)), ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and len(longer) > most:
            yield line
            longer = word
        line = longer
    if line:
        yield line


def _place(x: float, y: float) -> str:
    return f'x="{_number(x)}" y="{_number(y)}"'


def _extent(width: float, height: float) -> str:
    return f'width="{_number(width)}" height="{_number(height)}"'


def _number(value: float) -> str:
    return f"{round(value, 2):g}"
