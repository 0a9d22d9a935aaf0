"""The command `reprieve`. It imports a subcommand only when it is called: `plan` needs no HTTP client."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from importlib import import_module
from typing import Any, Final

import click
from click.exceptions import NoArgsIsHelpError
from click.shell_completion import CompletionItem

from cli.common.printable import guarding, one_line, unguarded
from cli.common.writing import writing

__all__ = ["PLUGIN", "main", "reprieve"]

COMMANDS: Final = {
    "plan": (
        "cli.plan.command",
        "Say who would be preempted for a PodGroup or a pod, from a live cluster or from files.",
    ),
    "quota": (
        "cli.quota.command",
        "Say whether a Workload gets its quota and who would be preempted for it, from a live cluster or from files.",
    ),
    "queue": (
        "cli.queue.command",
        "Say how quota is used, lent and borrowed, who waits for it, and who could take it back.",
    ),
    "clusters": (
        "cli.clusters.command",
        "Say which worker clusters a manager has, whether they are reached, what they have, and whose turn it is.",
    ),
    "validate": (
        "cli.validate.command",
        "Say whether objects would be accepted, from files, without a cluster.",
    ),
    "who-evicted": (
        "cli.evicted.command",
        "Say for whom a pod, a PodGroup or a Workload was evicted, by which rule, and with what result.",
    ),
    "report": (
        "cli.report.command",
        "Say what the scheduler did where reprieve only observes, beside what reprieve would have done.",
    ),
    "doctor": (
        "cli.doctor.command",
        "Say whether reprieve works in a cluster, and what helps if it does not.",
    ),
    "why": (
        "cli.why.command",
        "Say why a pod, a PodGroup, a Job or a Workload waits, from a live cluster or from files.",
    ),
    "page": (
        "cli.page.command",
        "Show in a browser why gangs wait, from a live cluster or from files.",
    ),
    "what-if": (
        "cli.whatif.command",
        "Say what would happen if objects were submitted to a live cluster, or to one in files.",
    ),
    "diff": (
        "cli.diff.command",
        "Say whose fate changes if queues, classes, groups, budgets or nodes change.",
    ),
    "pause": (
        "cli.pausing.command",
        "Stop all evictions of reprieve for a while, in a cluster or for a namespace.",
    ),
    "resume": (
        "cli.pausing.command",
        "End a pause of evictions.",
    ),
    "ungate": (
        "cli.leaving.ungate",
        "Remove the scheduling gate from all pods of a cluster that reprieve leaves.",
    ),
    "unprotect": (
        "cli.leaving.unprotect",
        "Remove Kueue's finalizer from the queues of a cluster whose quota nobody manages any longer.",
    ),
    "release": (
        "cli.leaving.release",
        "Free all that reprieve holds in a cluster that it leaves: pods, Jobs, Workloads, queues and plans.",
    ),
    "serve": ("cli.serve.command", "Run the scheduler extender, the webhooks, or both, for a cluster."),
}
"""By name: the module, and one line of help. The module has the command under this name, with `_` for `-`."""

INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as shells have it."""
PLUGIN: Final = "kubectl reprieve"
"""What the command is called as a plugin of kubectl."""
EXAMPLE: Final = re.compile(r"(?<=^  )reprieve (?=[a-z])|(?<=\| )reprieve (?=[a-z])", re.MULTILINE)
"""The command in the examples of an epilog."""
EPILOG: Final = """\b
Shell completion:
  bash  eval "$(_REPRIEVE_COMPLETE=bash_source reprieve)"
  zsh   eval "$(_REPRIEVE_COMPLETE=zsh_source reprieve)"
  fish  _REPRIEVE_COMPLETE=fish_source reprieve | source
"""


class LazyGroup(click.Group):
    """Lists its commands without importing them."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """As click does it. Whatever a command or click prints can be printed."""
        with guarding():
            return super().main(*arguments, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it. An error is one line, whatever the arguments have in them."""
        with _one_line_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As `parse_args`, for the arguments of commands. An interrupt ends the command with one line."""
        try:
            with _one_line_errors():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            begin = "\r" if sys.stderr.isatty() else ""
            unguarded(sys.stderr).write(f"{begin}Interrupted.\n")
            ctx.exit(INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of the command; None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        name = COMMANDS[cmd_name][0]
        with nullcontext() if name in sys.modules else _no_collection():
            module = import_module(name)
        command: click.Command = copy(getattr(module, cmd_name.replace("-", "_")))
        command.epilog = (
            EXAMPLE.sub(f"{PLUGIN} ", command.epilog or "") if _is_plugin(ctx) else command.epilog
        )
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands and their help, or the options."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write how a shell completes the command. For its plugins, kubectl does that."""
        if not _is_plugin(ctx):
            super().format_epilog(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands for --help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="reprieve", message="%(prog)s %(version)s")
def reprieve() -> None:
    """Workload-aware preemption for stock Kubernetes."""


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage is collected inside, nor later of what was imported, which stays. That took a third of a start."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except NoArgsIsHelpError:
        raise
    except click.ClickException as error:
        vars(error)["message"] = one_line(error.message)
        raise


def _is_plugin(context: click.Context) -> bool:
    return context.find_root().info_name == PLUGIN


def main() -> None:
    """The entry point `reprieve` of the package."""
    with writing():
        reprieve(prog_name="reprieve")
