"""The pictures of README.md and the pages: drawn from recordings, always to the same bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import msgspec
import pytest

from hack.pictures.__main__ import main
from hack.pictures.drawn import MOST_BYTES, NAMES, files_of
from hack.pictures.recordings import FOLDER, GangRecording, GridRecording, Side, read
from hack.pictures.svg import DARK, THEMES, Picture, Theme, lines_of

ROOT: Final = FOLDER.parents[1]
SVG: Final = "{http://www.w3.org/2000/svg}"
FILES: Final = {name: text for each in NAMES for name, text in files_of(each).items()}
by_file: Final = pytest.mark.parametrize("file", FILES)


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - what we have drawn


@by_file
def test_what_is_drawn_is_what_is_committed(file: str) -> None:
    assert FILES[file] == (FOLDER / file).read_text(encoding="utf-8"), (
        "make pictures, and look at what changes"
    )


def test_no_other_picture_is_there() -> None:
    assert {path.name for path in FOLDER.glob("*.svg")} == FILES.keys()
    assert {path.stem for path in FOLDER.glob("*.json")} == set(NAMES)


@by_file
def test_a_picture_is_small_and_its_text_is_text(file: str) -> None:
    assert len(FILES[file].encode()) < MOST_BYTES
    root = parsed(FILES[file])
    assert root.find(f"{SVG}title") is not None
    assert len(root.findall(f"{SVG}text")) > 5
    assert not re.search(r"<(?:image|script|foreignObject|style)|href|url\(", FILES[file]), (
        "it loads something"
    )


@pytest.mark.parametrize("name", NAMES)
def test_light_and_dark_differ_by_colours_only(name: str) -> None:
    light, dark = (re.sub(r"#[0-9a-f]{6}", "", FILES[f"{name}-{theme.name}.svg"]) for theme in THEMES)
    assert light == dark


@by_file
def test_nothing_is_drawn_beyond_the_edge(file: str) -> None:
    """Boxes and lines; the width of text depends on the reader's font."""
    root = parsed(FILES[file])
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{SVG}rect"):
        assert float(box.attrib["x"]) + float(box.attrib["width"]) <= width
        assert float(box.attrib["y"]) + float(box.attrib["height"]) <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["y"]) < height


@by_file
def test_a_page_shows_it(file: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert any(f"pictures/{file}" in page.read_text() for page in pages)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_text_can_be_read(theme: Theme) -> None:
    """Contrast as in WCAG 2.1, 1.4.3."""
    for ink in (theme.text, theme.quiet, theme.lost, theme.good):
        assert min(contrast(ink, theme.page), contrast(ink, theme.panel)) >= 4.5, ink
    assert contrast(theme.on_gang, theme.gang) >= 4.5
    assert contrast(theme.text, theme.still) >= 4.5


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# ---- what was recorded


def test_the_gang_of_four_is_evicted_for_in_vain_without_us() -> None:
    recording = read("gang-of-four", GangRecording)
    assert (len(recording.alone.evicted), bound(recording.alone)) == (3, 3)
    assert (recording.ours.evicted, bound(recording.ours)) == ([], 0)
    assert recording.ours.why


def test_the_gang_of_three_runs_on_both_sides() -> None:
    recording = read("gang-of-three", GangRecording)
    assert [bound(side) for side in (recording.alone, recording.ours)] == [3, 3]


def bound(side: Side) -> int:
    return sum(node is not None for pod, node in side.pods.items() if pod.startswith("train"))


def test_the_interleaved_case_takes_the_least_with_us() -> None:
    recording = read("interleaved", GridRecording)
    ours = recording.ways["ours"]
    assert (ours.evicted.count("x"), ours.evicted.count("0")) == (90, 410)
    assert [way.bound for way in recording.ways.values()] == [recording.members] * 3
    assert all(len(way.evicted) == recording.nodes for way in recording.ways.values())


def test_a_recording_with_another_field_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hack.pictures.recordings.FOLDER", tmp_path)
    (tmp_path / "gang-of-four.json").write_text('{"date": "2026-01-01", "more": 1}')
    with pytest.raises(msgspec.ValidationError, match="more"):
        read("gang-of-four", GangRecording)


# ---- drawing


def test_lines_are_no_wider_than_they_may_be() -> None:
    assert list(lines_of("one two three", 1000, 10)) == ["one two three"]
    assert list(lines_of("one two three", 40, 10)) == ["one two", "three"]
    assert list(lines_of("verylongword and", 20, 10)) == ["verylongword", "and"]
    assert list(lines_of("", 20, 10)) == []


def test_what_a_name_says_is_no_markup() -> None:
    picture = Picture(10, 10, DARK, title="a<b")
    picture.text(1, 1, "<script> & more")
    root = parsed(str(picture))
    assert [each.text for each in root.iter(f"{SVG}text")] == ["<script> & more"]
    assert root.findtext(f"{SVG}title") == "a<b"


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == 1
    assert "no picture has the name nothing" in capsys.readouterr().err
