"""The check of idioms finds planted ones in all that a person reads, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.lint.idioms import COUNTED, NEVER, faults, places

REFUSED = {
    "nobody goes": [
        "Nobody goes.",
        "nobody must go",
        "if nobody's going helps",
        "No one goes",
        "nobody else goes",
    ],
    "who goes": ["says who goes", "those who had to go", "before anybody goes", "who would have to go"],
    "goes for": ["a victim goes for it", "the pods that go for a gang", "it went for another one"],
    "so long": ["for so long as it runs", "If so long no pod comes"],
    "what names none": ["the namespace of what names none", "what names no queue"],
    "who asks": ["Who asks with a higher priority", "whoever asks about more"],
    "gone on from": ["Nothing is gone on from.", "goes on from the plan"],
    "what came of": ["by what came of it", "by what became of them"],
    "sees through": ["it sees through promises"],
}
MAY_BE_RIGHT = {
    "must go": ["a pod must go", "units may also go", "it has to go so that others fit"],
    "so many": ["so many of its pods", "so much of it"],
    "of which": ["three pods, of which two run", "a pod of whom"],
    "is told": ["the caller is told", "they were told"],
}
RIGHT = [
    "It must go on with the next one, may go to another node, and time can go backwards.",
    "The program is for Go. How must Go read it?",
    "Nobody knows. The eviction goes through. A wish, of what it is, came. Nobody. Goes on.",
    "Names may go_for and so_long and who_asks.",
]


def plant(root: Path, file: str, text: str) -> Path:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return root


def found(root: Path) -> list[tuple[str, int, str]]:
    return [(place.file, place.line, place.idiom) for place in places(root)]


@pytest.mark.parametrize(
    ("idiom", "sentence"),
    [(idiom, each) for idiom, sentences in {**REFUSED, **MAY_BE_RIGHT}.items() for each in sentences],
)
def test_an_idiom_is_found_in_all_that_a_person_reads(tmp_path: Path, idiom: str, sentence: str) -> None:
    plant(tmp_path, "nodes/docstring.py", f'"""One.\n\n{sentence}\n"""\n')
    plant(tmp_path, "nodes/comment.pyx", f"cdef int x  # {sentence}\n")
    plant(tmp_path, "nodes/message.py", f'x = {{1: f"a {{y}}: {sentence}"}}\n')
    plant(tmp_path, "docs/page.md", f"# Title\n\n- A sentence.\n- {sentence}\n")
    plant(tmp_path, "web/app/view.tsx", f"const x = 1;\nreturn <p>{sentence}</p>;\n")
    where = [
        ("docs/page.md", 4),
        ("nodes/comment.pyx", 1),
        ("nodes/docstring.py", 3),
        ("nodes/message.py", 1),
        ("web/app/view.tsx", 2),
    ]
    assert [each[:2] for each in found(tmp_path) if each[2] == idiom] == where


def test_each_idiom_is_planted() -> None:
    assert (REFUSED.keys(), MAY_BE_RIGHT.keys()) == (NEVER.keys(), COUNTED.keys())


@pytest.mark.parametrize("sentence", RIGHT)
def test_other_words_are_not_idioms(tmp_path: Path, sentence: str) -> None:
    plant(tmp_path, "nodes/a.py", f'"""{sentence}"""\nwho = goes = 1  # {sentence}\n')
    plant(tmp_path, "docs/page.md", sentence)
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("nodes/a.py", '"""If it would help,\n    nobody\n    goes.\n"""\n', 2),
        ("nodes/a.py", 'x = (\n    "if it would help, nobody "\n    f"goes {x}"\n)\n', 2),
        ("nodes/a.py", "# If it would help, nobody\n# goes.\n", 1),
        ("docs/page.md", "If it would help, nobody\ngoes.\n", 1),
    ],
)
def test_a_sentence_goes_over_lines(tmp_path: Path, file: str, text: str, line: int) -> None:
    assert found(plant(tmp_path, file, text)) == [(file, line, "nobody goes")]


@pytest.mark.parametrize(
    "text", ['x = ["nobody", "goes"]\n', "x = 1  # nobody\ngoes = 1\n", '"""Nobody\n\ngoes"""\n']
)
def test_two_texts_are_not_one(tmp_path: Path, text: str) -> None:
    assert found(plant(tmp_path, "nodes/a.py", text)) == []


def test_what_a_command_prints_is_checked_in_the_code(tmp_path: Path) -> None:
    page = "```console\n$ reprieve plan\nNobody goes.\n```\n\n```text\nNobody goes.\n```\n"
    assert found(plant(tmp_path, "docs/page.md", page)) == [("docs/page.md", 7, "nobody goes")]


@pytest.mark.parametrize(
    "file",
    [
        "CHANGELOG.md",
        "tests/data/a.md",
        ".venv/a.py",
        "build/a.py",
        "docs/metrics.md",
        "web/app/node_modules/a/a.md",
    ],
)
def test_some_files_are_nobodys_prose(tmp_path: Path, file: str) -> None:
    assert list(places(plant(tmp_path, file, "# Nobody goes.\n"))) == []


def test_a_fault_says_where_and_what_to_write(tmp_path: Path) -> None:
    plant(tmp_path, "nodes/a.py", "# Nobody goes.\n")
    assert list(faults(tmp_path)) == ['nodes/a.py:1: "Nobody goes": nothing is evicted']


@pytest.mark.parametrize("idiom", COUNTED)
def test_what_may_be_right_is_a_fault_if_it_stands_more_often_than_today(tmp_path: Path, idiom: str) -> None:
    sentence, most = MAY_BE_RIGHT[idiom][0], COUNTED[idiom].most
    plant(tmp_path, "nodes/a.py", f"# {sentence}\nx = 1\n" * most)
    assert list(faults(tmp_path)) == []
    plant(tmp_path, "nodes/b.py", f"# {sentence}\n")
    first, *rest = faults(tmp_path)
    assert first.startswith(f'"{idiom}" stands {most + 1} times, {most} is the most (hack/lint/idioms.py): ')
    assert len(rest) == most + 1
    assert rest[-1].startswith("nodes/b.py:1: ")
