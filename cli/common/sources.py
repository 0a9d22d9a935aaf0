"""Where a command reads objects: in files, or in a live cluster. And what replaces some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar

import click

from answers.errors import InputError
from answers.reading.documents import DEFAULT_NAMESPACE, Reader, split_key
from answers.reading.quota_objects import read_time
from api.clock import SYSTEM_CLOCK
from api.progress import Progress, silent
from cli.common.cluster import Connection
from cli.common.completion import a_context, a_file
from cli.common.contexts import contexts
from cli.common.files import files_of, read_file
from cli.common.notes import note
from cli.common.options import FILES, MORE_FILES

__all__ = ["Sources", "connecting", "reading", "reading_beside"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Sources:
    """Without files, it is the cluster of the connection."""

    files: tuple[str, ...]
    overlays: tuple[str, ...]
    """Files with objects that replace those of the same names, or are added to them."""
    connection: Connection

    def __bool__(self) -> bool:
        """Whether any file is given."""
        return bool(self.files or self.overlays)

    def namespace(self, given: str | None) -> str:
        """The namespace for names and objects that do not give one.

        That of -n, else that of the context, or `default` with files.
        """
        if given or self.files:
            return given or DEFAULT_NAMESPACE
        return contexts(self.connection.kubeconfig).namespace(self.connection.context)

    def now(self, given: str | None) -> float:
        """The time that counts, in seconds since the epoch. `given`: that of --now. Raises InputError."""
        if given is None:
            return SYSTEM_CLOCK.wall()
        if not self.files:
            raise InputError("--now: needs -f, because the time of a cluster is now")
        return read_time(given, "--now") / 1e6

    def key(self, name: str, given: str | None, field: str) -> tuple[str, str]:
        """Namespace and name of `[NAMESPACE/]NAME`. `given`: the namespace of -n. Raises InputError."""
        whole = name if "/" in name else f"{self.namespace(given)}/{name}"
        return split_key(whole, field)

    def read(self, reader: Reader, progress: Progress = silent) -> None:
        """Read all, and print the notes of the reader. Raises InputError and ClusterError."""
        reader.count.progress = progress
        try:
            self._read(reader)
        finally:
            note(reader.notes)

    def _read(self, reader: Reader) -> None:
        progress = reader.count.progress
        for path in files_of(self.overlays):
            progress(f"reading {path}")
            reader.add_overlay(read_file(path), path)
        for path in files_of(self.files):
            progress(f"reading {path}")
            reader.add_file(read_file(path), path)
        if not self.files:
            from cli.common.live import read_cluster  # noqa: PLC0415 - files need no HTTP client

            progress("asking the cluster")
            read_cluster(reader, self.connection)


CONNECTION: Final = (
    click.option(
        "--kubeconfig",
        envvar="KUBECONFIG",
        default="~/.kube/config",
        metavar="FILE",
        help="The cluster, unless files are read. By default KUBECONFIG, or else ~/.kube/config.",
        shell_complete=a_file,
    ),
    click.option(
        "--context",
        metavar="NAME",
        help="A context of the kubeconfig; by default its current one.",
        shell_complete=a_context,
    ),
    click.option("--as", "user", metavar="USER", help="Ask the cluster as this user (impersonation)."),
    click.option(
        "--as-group", "groups", multiple=True, metavar="GROUP", help="With --as: as a member of it."
    ),
)
OPTIONS: Final = (
    FILES,
    MORE_FILES,
    click.option(
        "--overlay",
        "overlays",
        multiple=True,
        metavar="FILE",
        help="Objects that replace those of the same names, or are added to them.",
        shell_complete=a_file,
    ),
    *CONNECTION,
)


def reading(command: F) -> Callable[..., Any]:
    """The command with the options that say where it reads. It gets `sources` in their place."""
    return _with(OPTIONS, command)


def reading_beside(command: F) -> Callable[..., Any]:
    """As `reading`, for a command whose arguments are files of another kind: only -f names where it reads."""
    return _with([option for option in OPTIONS if option is not MORE_FILES], command)


def connecting(command: F) -> Callable[..., Any]:
    """The command with the options that say which cluster it changes. It gets a `connection` in their place."""

    @wraps(command)
    def connects(
        *arguments: Any,
        kubeconfig: str,
        context: str | None,
        user: str | None,
        groups: tuple[str, ...],
        **others: Any,
    ) -> Any:
        return command(*arguments, connection=Connection(kubeconfig, context, user, groups), **others)

    return _all(CONNECTION, connects)


def _all(options: Iterable[Callable[..., Any]], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(list(options)):
        command = option(command)
    return command


def _with(options: Iterable[Callable[..., Any]], command: F) -> Callable[..., Any]:
    @wraps(command)
    def reads(
        *arguments: Any,
        files: tuple[str, ...],
        overlays: tuple[str, ...],
        kubeconfig: str,
        context: str | None,
        user: str | None,
        groups: tuple[str, ...],
        more: tuple[str, ...] = (),
        **others: Any,
    ) -> Any:
        connection = Connection(kubeconfig, context, user, groups)
        return command(*arguments, sources=Sources(files + more, overlays, connection), **others)

    return _all(options, reads)
