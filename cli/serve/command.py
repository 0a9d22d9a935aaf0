"""`reprieve serve`: the services of one cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import click

from api.validation import FieldError
from cli.common.configuration import Configuration, ConfigurationError, dump, load
from cli.common.logs import configure_logging
from cli.common.printable import complain, say_lines
from cli.serve.loops import loop_factory
from cli.serve.process import run
from kube.errors import ApiError

__all__ = ["serve"]

BAD_INPUT = 2
EPILOG: Final = """\b
Exit status:
  0  it was asked to end, or the configuration is printed
  1  it could not start, or it failed; the log says why
  2  bad input, named on standard error
"""


@click.command(epilog=EPILOG)
@click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The Configuration. A folder stands for its files, which are merged.",
)
@click.option("--print-config", is_flag=True, help="Print the configuration with every default, and end.")
@click.pass_context
def serve(context: click.Context, path: Path | None, print_config: bool) -> None:
    """Run what the configuration enables: the scheduler extender, the admission webhooks, or both.

    Without --config, --print-config prints the defaults. They are a good start for a file of your own.
    """
    if path is None and not print_config:
        raise click.UsageError("--config FILE is needed")
    if path is None:
        say_lines(dump(Configuration()))
        return
    try:
        loaded = load(path)
    except ConfigurationError as error:
        complain(f"Error: {error}")
        context.exit(BAD_INPUT)
    configuration = loaded.configuration
    if print_config:
        say_lines(dump(configuration))
        return
    if configuration.kubeconfig is not None and not Path(configuration.kubeconfig).is_file():
        place = loaded.place("kubeconfig")
        complain(f"Error: {place}: kubeconfig: {configuration.kubeconfig}: no such file")
        context.exit(BAD_INPUT)
    configure_logging()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            if not runner.run(run(configuration)):
                context.exit(1)  # the log has the error
    except FieldError as error:
        # A file that the configuration names is read only now: it is missing, or does not fit the configuration.
        complain(f"Error: {loaded.place(error.path)}: {error}")
        context.exit(BAD_INPUT)
    except (OSError, ApiError) as error:
        # A port is taken, or credentials are refused. The operator can mend this; a traceback would not help.
        complain(f"Error: {error}")
        context.exit(1)
