"""`reprieve pause` and `reprieve resume`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

import click
import msgspec

from answers.errors import InputError
from api.clock import SYSTEM_CLOCK
from api.core import Namespace
from api.pauses import PAUSED, PAUSED_UNTIL, RESUMED, Pause, pause_of
from api.published import NAMESPACE
from api.times import rfc3339
from cli.common.cluster import FAILED, Connection, checked
from cli.common.completion import a_namespace
from cli.common.duration import Duration
from cli.common.options import OUTPUT
from cli.common.output import BAD_INPUT
from cli.common.printable import complain
from cli.common.sources import connecting
from cli.pausing.render import paused, show
from kube.client import MERGE_PATCH, ApiClient
from kube.errors import ApiError

__all__ = ["pause", "resume"]


NAMESPACE_OPTION: Final = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    default=NAMESPACE,
    show_default=True,
    help="Only for this namespace. That of reprieve itself is for the whole cluster.",
    shell_complete=a_namespace,
)
STATUS: Final = """\b
You need the rights to get and patch that Namespace.

\b
Exit status:
  0  done
  1  there is no such Namespace, or the API server refuses or does not answer
  2  bad input, named on standard error

\b
docs/pausing.md says what stops, what goes on, and what a long pause costs. docs/limits.md is about limits.
"""
PAUSE_EPILOG: Final = (
    """\b
Examples:
  reprieve pause "the storage is moved"
  reprieve pause --for 2h "upgrade of the nodes"
  reprieve pause -n team-a "a deadline of team-a"
  reprieve resume

"""
    + STATUS
)
RESUME_EPILOG: Final = (
    """\b
Examples:
  reprieve resume
  reprieve resume -n team-a

"""
    + STATUS
)


@click.command(epilog=PAUSE_EPILOG)
@connecting
@NAMESPACE_OPTION
@click.option(
    "--for", "seconds", type=Duration(), help="Until then, such as 30m or 2h. By default: until resumed."
)
@OUTPUT
@click.argument("why")
@click.pass_context
def pause(
    context: click.Context,
    connection: Connection,
    namespace: str,
    seconds: int | None,
    output: str | None,
    why: str,
) -> None:
    """Stop all evictions of reprieve, in the cluster or for a namespace. Everybody who waits can read WHY.

    It holds within a second, also in the middle of a plan.
    """
    if not why.strip():
        complain("Error: WHY: is empty")
        context.exit(BAD_INPUT)
    until = rfc3339(math.ceil(SYSTEM_CLOCK.wall() + seconds)) if seconds is not None else None

    async def work(client: ApiClient) -> Pause | None:
        return await _annotate(client, namespace, {PAUSED: why.strip(), PAUSED_UNTIL: until})

    found = _run(context, connection, namespace, work)
    show(namespace, found, paused(namespace, found), output)


@click.command(epilog=RESUME_EPILOG)
@connecting
@NAMESPACE_OPTION
@OUTPUT
@click.pass_context
def resume(context: click.Context, connection: Connection, namespace: str, output: str | None) -> None:
    """End a pause of evictions. What waits for it is decided anew, in the order of the queue.

    For the whole cluster, it also ends the hour without evictions after planning.limits.plansInVainPerHour.
    """
    now = rfc3339(SYSTEM_CLOCK.wall())

    async def work(client: ApiClient) -> bool:
        before = _pause_in(namespace, await client.request("GET", _path(namespace)))
        await _annotate(client, namespace, {PAUSED: None, PAUSED_UNTIL: None, RESUMED: now})
        return before is not None

    was_paused = _run(context, connection, namespace, work)
    says = "is not paused any longer" if was_paused else "was not paused"
    show(namespace, None, f"Namespace {namespace} {says}.", output)


def _run(
    context: click.Context,
    connection: Connection,
    namespace: str,
    work: Callable[[ApiClient], Awaitable[Any]],
) -> Any:
    """The result of the work. Ends the process with status 1 or 2 if it cannot be done."""
    try:
        files = checked(connection)
        return asyncio.run(_connected(files, connection, work))
    except InputError as error:
        complain(f"Error: {error}")
        context.exit(BAD_INPUT)
    except ApiError as error:
        complain(f"Error: there is no Namespace {namespace}" if error.status == 404 else f"Error: {error}")
        context.exit(FAILED)


async def _connected(files: str, connection: Connection, work: Callable[[ApiClient], Awaitable[Any]]) -> Any:
    async with ApiClient.connect(
        files, context=connection.context, user=connection.user, groups=connection.groups
    ) as client:
        return await work(client)


async def _annotate(client: ApiClient, namespace: str, annotations: dict[str, str | None]) -> Pause | None:
    """Write the annotations (None: remove it). Returns the pause that the Namespace then has. Raises ApiError."""
    body = msgspec.json.encode({"metadata": {"annotations": annotations}})
    answer = await client.request("PATCH", _path(namespace), body=body, content_type=MERGE_PATCH)
    return _pause_in(namespace, answer)


def _pause_in(namespace: str, body: bytes) -> Pause | None:
    return pause_of(namespace, msgspec.json.decode(body, type=Namespace).metadata.annotations)


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}"
