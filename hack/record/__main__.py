"""`python -m hack.record DIR [WORD]`: a file for each question, with the answer. WORD: only those that have it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from hack.record.asked import asked
from hack.record.asking import ask
from hack.record.cases import Case
from hack.record.examples import about_examples
from hack.record.live import live
from hack.record.pages import about_the_command, of_examples, of_pages
from hack.record.wrong import wrong

SHOWN = 500


def main(folder: str, word: str = "") -> None:
    """Write the record. Files that are in the folder already stay, unless their question is asked again."""
    cases = {case.name: case for case in _all() if word in case.name}
    for number, (name, case) in enumerate(sorted(cases.items()), 1):
        path = Path(folder) / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ask(case))
        if number % SHOWN == 0:
            print(f"{number} of {len(cases)}", file=sys.stderr)
    print(f"{len(cases)} questions and their answers are in {folder}")


def _all() -> Iterator[Case]:
    yield from about_the_command()
    yield from of_pages()
    yield from of_examples()
    yield from about_examples()
    yield from wrong()
    yield from live()
    yield from asked()


if __name__ == "__main__":
    main(*sys.argv[1:])
