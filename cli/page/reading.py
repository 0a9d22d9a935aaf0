"""Where the page reads: files that stand still, or a cluster that it follows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from answers.reading.page_objects import PageObjects
from api.owner_annotations import ByOwner
from api.progress import Progress
from cli.common.cluster import Connection
from cli.common.contexts import contexts
from cli.common.notes import note
from cli.common.sources import Sources
from web.about import Place
from web.sources.files import Files
from web.sources.source import Source

__all__ = ["place_of", "still_source"]

MOST_NAMES: Final = 3
DEFAULT: Final = "~/.kube/config"


def place_of(sources: Sources, now: str | None, by_owner: ByOwner | None) -> Place:
    """How the page names it, and the options by which a command reads and decides the same."""
    if sources.files:
        names = [Path(each).name for each in (*sources.files, *sources.overlays)]
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        name, options = ", ".join(names[:MOST_NAMES]) + more, _file_options(sources)
    else:
        connection = sources.connection
        name = connection.context or contexts(connection.kubeconfig).current
        options = _cluster_options(connection, name)
    reads = [*options, *(("--now", now) if now else ())]
    decides = ("--groups-by-owner", by_owner) if by_owner else ()
    return Place(name, shlex.join([*reads, *decides]), shlex.join(reads))


def _file_options(sources: Sources) -> list[str]:
    options = [word for each in sources.files for word in ("-f", each)]
    return options + [word for each in sources.overlays for word in ("--overlay", each)]


def _cluster_options(connection: Connection, context: str) -> list[str]:
    """The context is named also if it is the current one: that may be another one tomorrow."""
    options = ["--kubeconfig", connection.kubeconfig] if connection.kubeconfig != DEFAULT else []
    options += ["--context", context] if context else []
    if connection.user:
        options += ["--as", connection.user]
    return options + [word for each in connection.groups for word in ("--as-group", each)]


def still_source(sources: Sources, now: int, by_owner: ByOwner | None, progress: Progress) -> Source:
    """What the files say. `now`: the moment, in microseconds since 1970. Raises InputError."""
    objects = PageObjects(now, by_owner)
    sources.read(objects, progress)
    note(objects.refused_notes())
    return Files(objects)
