"""The page beside its aims: what its process takes, how long answers take, and what a browser does with it.

REPRIEVE_BENCH_PAGE has the number of nodes, of pods on each, and the seconds for which the memory of the browser is
watched: 5000,30,600 is the full size. A stub stands in place of the API server, in a process of its own. It lists and
watches as a real one does, with managed fields, and says what 50 kinds of readers may list. So nothing of it counts,
except that all processes share the cores: the more of them are busy, the later each one has its turn.
"""

from __future__ import annotations

import math
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from bench.page_browser import in_a_browser, of_files, why_not
from bench.page_children import page, stub
from bench.page_commands import of_a_dump, of_a_live_one
from bench.page_figures import Figure, table_of
from bench.page_load import Asking, answers, loads, memory_of_mirror
from bench.page_world import Size, World

__all__ = ["run"]


def run(console: Console) -> bool:
    """Print the tables. An aim that is missed fails nothing. Returns whether all was measured."""
    size = Size.asked()
    world, figures = World(size), list[Figure]()
    console.print(
        f"[bold]The page[/]: {size.nodes:,} nodes, {world.bound:,} pods, {world.waiting:,} waiting gangs"
    )

    def tell(title: str, found: list[Figure]) -> None:
        console.print(table_of(title, found))
        figures.extend(found)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        server = stack.enter_context(stub(size, folder))
        mirror = memory_of_mirror(server)
        tell("commands", [of_a_dump(size, folder), of_a_live_one(server)])
        with page("page", server.kubeconfig) as there:
            tell("answers", answers(Asking(there.port), world))
            tell("process", loads(server, there, world, mirror))
        if reason := why_not():
            console.print(f"[yellow]not measured in a browser[/]: {reason}")
            return False
        with page("page", server.kubeconfig) as there:
            found = in_a_browser(server, there.port, size, folder)
        tell("Chromium, 1440 x 900, without a graphics card", [*found, of_files()])
    return not any(math.isnan(each.value) for each in figures)
