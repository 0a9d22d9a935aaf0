"""What is promised of the compiled code as such: no Python in it, and the GIL free while it runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from html import unescape
from importlib import metadata
from pathlib import Path

import pytest

from hack.kept import keep, kept
from native.codes import PREEMPTS
from native.nodes._victims import search
from tests.kit.problems import assemble

NATIVE = Path(__file__).parents[3] / "native"
KERNELS = sorted(str(path.relative_to(NATIVE).with_suffix("")) for path in NATIVE.glob("*/*.pyx"))
LEAST_CHECKED = {"nodes/_changes": 40, "quota/_quota": 0, "quota/_holders": 15}
"""Lines without Python, in short kernels and in those that are mostly about letting Python in."""
SOURCES = {".pyx", ".pxd", ".pyi", ".py"}
LINE = re.compile(r'<pre class="cython line score-(\d+)".*?<span class="">(\d+)</span>: ?(.*?)</pre>')


def home(root: Path) -> Path:
    """Where annotations are kept, by all that they depend on: Cython itself, and what it reads."""
    paths = sorted(path for path in root.rglob("*") if path.suffix in SOURCES)
    read = [part for path in paths for part in (str(path.relative_to(root)), path.read_bytes())]
    return kept("annotations", [metadata.version("cython"), str(sys.version_info[:2]), *read])


@pytest.fixture(scope="module")
def listings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with Cython's annotation of each kernel. It takes half a minute, so it is kept for these sources."""
    folder = home(NATIVE)
    if folder.is_dir():
        return folder
    scratch = tmp_path_factory.mktemp("annotations")
    shutil.copytree(NATIVE, scratch / "native", ignore=shutil.ignore_patterns("*.so", "*.c"))
    sources = [f"native/{kernel}.pyx" for kernel in KERNELS]
    command = [sys.executable, "-m", "cython", "-3", "--annotate", *sources]
    subprocess.run(command, cwd=scratch, check=True, capture_output=True)
    keep(folder, scratch / "native", [scratch / "native" / f"{kernel}.html" for kernel in KERNELS])
    return folder


def annotated(kernel: str, listings: Path) -> list[tuple[int, str]]:
    """Each line of the kernel with its weight: how much of Python it needs."""
    html = (listings / f"{kernel}.html").read_text()
    return [(int(score), unescape(re.sub("<[^>]*>", "", text))) for score, _, text in LINE.findall(html)]


@pytest.mark.parametrize("name", ["_a.pyx", "_a.pxd", "_a.pyi", "inner.py"])
def test_annotations_are_kept_only_for_the_same_sources(tmp_path: Path, name: str) -> None:
    for each in ("_a.pyx", "_a.pxd", "_a.pyi", "inner.py"):
        (tmp_path / each).write_text("x")
    before = home(tmp_path)
    (tmp_path / "_a.c").write_text("made from it")
    assert home(tmp_path) == before
    (tmp_path / name).write_text("y")
    changed = home(tmp_path)
    assert changed != before
    (tmp_path / name).rename(tmp_path / f"other{name}")
    assert home(tmp_path) not in {before, changed}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_need_no_python(kernel: str, listings: Path) -> None:
    lines = annotated(kernel, listings)
    inside, indent, checked, guilty = False, 0, 0, []
    for score, text in lines:
        depth = len(text) - len(text.lstrip())
        if text.strip() and inside and depth <= indent:
            inside = False
        if re.match(r"\s*(cdef .*|\)) noexcept nogil:$", text):
            inside, indent = True, depth
        elif inside and text.strip():
            checked += 1
            if score:
                guilty.append(text)
    assert len(lines) == len((NATIVE / f"{kernel}.pyx").read_text().splitlines())
    assert checked >= LEAST_CHECKED.get(kernel, 50)
    assert guilty == []


def test_others_run_during_a_search() -> None:
    """Nobody is asked to give the GIL up here, so that others count only if the search does without it."""
    nodes = 3000
    problem = assemble(
        domains=[0, nodes],
        free=[[0]] * nodes,
        shapes=[([5], nodes // 2, [1] * nodes)],
        units=[(pod, node, {node: [2]}) for node in range(nodes) for pod in range(4)],
    )
    count, stop, interval = 0, threading.Event(), sys.getswitchinterval()

    def count_up() -> None:
        nonlocal count
        while not stop.is_set():
            count += 1
            time.sleep(0)

    counter = threading.Thread(target=count_up)
    sys.setswitchinterval(1000)
    try:
        counter.start()
        before = count
        found = search(problem, budget=1000, effort=10**7)
        during = count - before
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        counter.join()
    assert found.outcomes == [PREEMPTS]
    assert during > 100
