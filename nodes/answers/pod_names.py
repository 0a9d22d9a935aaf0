"""The names of all pods, for those who search them often.

A list of names has pages, and a page that has changed is another one (`nodes.state.columns.paged`). So what was made of
a page holds while it is there, and a question looks at long texts instead of at each pod.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

from nodes.answers.picture import NodesPicture
from nodes.state.columns.paged import SIZE
from nodes.state.pods.pod_facts import Controller
from nodes.state.snapshot import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["JOB", "FoundPods", "PodNames"]

JOB: Final = ("batch/v1", "Job")
MOST_NAMESPACES: Final = 100_000
"""More that were there at some time, and all is read anew."""
FEW: Final = 32
"""Pods of a page that are looked at one by one."""


@dataclass(frozen=True, slots=True)
class FoundPods:
    """Some pods, (namespace, name). Of both, those without a node come first."""

    beginning: list[tuple[str, str]]
    """Their names begin with the text."""
    others: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Page:
    namespaces: list[str]
    names: list[str]
    text: str
    """NAMESPACE/NAME of each pod in small letters, a line for each."""
    starts: array[int]
    """Where each line begins, and behind the last one."""
    codes: NDArray[np.int32]
    """The number of each namespace."""

    def lines_with(self, text: str) -> Iterator[int]:
        """The lines that have the text in them."""
        at = self.text.find(text)
        while at >= 0:
            line = bisect_right(self.starts, at) - 1
            end = self.starts[line + 1]
            if at + len(text) < end:
                yield line
                at = self.text.find(text, end)
            else:  # a name of a file may have anything in it, and the text as well
                at = self.text.find(text, at + 1)

    def line(self, line: int) -> str:
        """The line without its end."""
        return self.text[self.starts[line] : self.starts[line + 1] - 1]

    def begins(self, line: int, text: str) -> bool:
        """Whether the name in this line begins with the text."""
        return self.text.startswith(text, self.starts[line] + len(self.namespaces[line].lower()) + 1)


@dataclass(frozen=True, slots=True)
class _Jobs:
    controllers: Sequence[Controller | None]
    found: list[tuple[str, str, str]]
    """Namespace and name of each Job, and NAMESPACE/NAME in small letters."""


class PodNames:
    """What was made of pages and of controllers, for one thread."""

    def __init__(self) -> None:
        self._pages: list[_Page] = []
        self._codes: dict[str, int] = {}
        """By namespace, also of those that have no pod any longer."""
        self._jobs = _Jobs((), [])

    def find(self, snapshot: Snapshot, text: str, may: Callable[[str], bool], most: int) -> FoundPods:
        """The first `most` pods of both kinds with the text in NAMESPACE/NAME, or fewer if enough begin with it.

        `text`: in small letters, not empty. `may`: whether pods of a namespace may be named.
        """
        self._read(snapshot)
        codes = np.concatenate([page.codes for page in self._pages]) if self._pages else np.zeros(0, np.int32)
        allowed = np.fromiter(map(may, self._codes), np.bool_, len(self._codes))
        there = snapshot.pod_live & allowed[codes]
        found = FoundPods([], [])
        for pods in (there & (snapshot.pod_node < 0), there & (snapshot.pod_node >= 0)):
            self._look(pods, text, most, found)
        return found

    def jobs(self, nodes: NodesPicture, text: str) -> Iterator[tuple[str, str]]:
        """Namespace and name of the Jobs that control a pod, with the text in NAMESPACE/NAME, in order. See `find`."""
        if self._jobs.controllers != nodes.controllers.known:
            self._jobs = _Jobs(nodes.controllers.known, sorted(_jobs_of(nodes)))
        return ((namespace, name) for namespace, name, line in self._jobs.found if text in line)

    def _look(self, pods: NDArray[np.bool_], text: str, most: int, found: FoundPods) -> None:
        if not pods.any():
            return
        counts = np.add.reduceat(pods, np.arange(0, len(pods), SIZE), dtype=np.int32)
        for number in np.flatnonzero(counts).tolist():
            page, here = self._pages[number], pods[number * SIZE : (number + 1) * SIZE]
            needed = text if len(found.others) < most else f"/{text}"
            if needed not in page.text:
                continue
            few = np.flatnonzero(here) if counts[number] <= FEW else None
            lines = page.lines_with(needed) if few is None else few.tolist()
            for line in lines:
                if not here[line] or (few is not None and needed not in page.line(line)):
                    continue
                part = found.beginning if page.begins(line, text) else found.others
                if len(part) < most:
                    part.append((page.namespaces[line], page.names[line]))
                if len(found.beginning) == most:
                    return

    def _read(self, snapshot: Snapshot) -> None:
        """Make anew what pages have changed."""
        if len(self._codes) > MOST_NAMESPACES:
            self._pages, self._codes = [], {}
        namespaces, names = snapshot.pod_namespaces.pages, snapshot.pod_names.pages
        del self._pages[len(names) :]
        for number, (spaces, own) in enumerate(zip(namespaces, names, strict=True)):
            known = self._pages[number] if number < len(self._pages) else None
            if known is None:
                self._pages.append(self._page(spaces, own))
            elif known.namespaces is not spaces or known.names is not own:
                self._pages[number] = self._page(spaces, own)

    def _page(self, namespaces: list[str], names: list[str]) -> _Page:
        lines = [f"{namespace}/{name}\n".lower() for namespace, name in zip(namespaces, names, strict=True)]
        codes = [self._codes.setdefault(each, len(self._codes)) for each in namespaces]
        starts = array("i", accumulate(map(len, lines), initial=0))
        return _Page(namespaces, names, "".join(lines), starts, np.array(codes, np.int32))


def _jobs_of(nodes: NodesPicture) -> Iterator[tuple[str, str, str]]:
    """See `_Jobs.found`. The controller of a pod is in the pod's namespace."""
    rows, snapshot = nodes.controllers.rows, nodes.snapshot
    controlled = np.flatnonzero(snapshot.pod_live & (rows >= 0))
    a_pod = np.full(len(nodes.controllers.known), -1, np.int64)
    a_pod[rows[controlled]] = controlled
    for row, each in zip(a_pod.tolist(), nodes.controllers.known, strict=True):
        if row >= 0 and each is not None and (each.api_version, each.kind) == JOB:
            namespace = snapshot.pod_namespaces[row]
            yield namespace, each.name, f"{namespace}/{each.name}".lower()
