from __future__ import annotations

import pytest
from rich.console import Console
from rich.text import Text

from cli.common.tables import Rows, sentence

LONG = "a-name-of-a-pod-that-has-63-characters-which-is-as-long-as-it-may"


def shown(what: object, width: int) -> list[str]:
    console = Console(width=width, no_color=True, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        console.print(what, crop=False)
    return [line.rstrip() for line in capture.get().splitlines()]


def table(*rows: tuple[str, ...]) -> Rows:
    made = Rows(("pod", ">priority", "why"))
    for row in rows:
        made.add_row(*row)
    return made


def test_a_wide_terminal_has_a_line_for_each_row() -> None:
    assert shown(table(("web", "5", "no room"), ("mail-server", "10", "too late")), 80) == [
        " pod          priority  why",
        " web                 5  no room",
        " mail-server        10  too late",
    ]


def test_sentences_give_way_to_names() -> None:
    why = "its ClusterQueue borrows nothing, or would no longer"
    lines = shown(table((LONG[:40], "5", why)), 80)
    assert lines[1].split()[:2] == [LONG[:40], "5"]
    assert " ".join(" ".join(line[52:].split()) for line in lines[1:]) == why
    assert len(lines) > 2


@pytest.mark.parametrize("width", [30, 40, 80])
def test_what_does_not_fit_beside_each_other_is_shown_below(width: int) -> None:
    why = "its ClusterQueue borrows nothing, or would no longer"
    lines = shown(table((LONG, "5", why), ("web", "7", "no room")), width)
    assert lines[0].strip() == LONG
    assert lines[1].strip() == "priority 5"
    assert " ".join(line.strip() for line in lines).count(f"why {why}") == 1
    assert lines[-1].strip() == "priority 7, why no room"


@pytest.mark.parametrize("width", range(40, 60))
def test_a_name_below_another_one_is_not_cut(width: int) -> None:
    """In a tree, spaces stand before it."""
    lines = shown(table((f"    {LONG[:24]}", "5", "no room for it")), width)
    assert sum(LONG[:24] in line for line in lines) == 1


def test_a_mark_stands_before_the_name() -> None:
    made = Rows(("", "pod", "why"))
    made.add_row("*", LONG, "no room")
    assert shown(made, 72)[0] == f" * {LONG}"


@pytest.mark.parametrize("width", [10, 20, 64, 65, 66, 80, 200])
def test_no_word_is_ever_cut(width: int) -> None:
    rows = table((LONG, "-2147483648", "because"), ("web", "7", f"{LONG} is of higher priority"))
    words = " ".join(shown(rows, width)).replace(",", "").split()
    assert words.count(LONG) == 2
    assert "-2147483648" in " ".join(words)


def test_a_sentence_keeps_its_style_and_its_words() -> None:
    text = Text(f"the pod {LONG} waits for its friends", "bold")
    assert shown(sentence(text, 2), 20) == [
        "  the pod",
        f"  {LONG}",
        "  waits for its",
        "  friends",
    ]
