"""`python -m hack.controlplane`, or `hack/cluster`: a plane that stays up until it is taken down."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from hack.controlplane.binaries import BinariesError
from hack.controlplane.components import FOLDERS, QUOTA_FOLDERS, Options
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.objects import node
from hack.controlplane.plane import ControlPlane, take_down
from hack.controlplane.processes import ProcessFailedError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Start and end control planes on this machine's loopback interface."""


@main.command()
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), required=True, help="Its folder."
)
@click.option("--nodes", default=0, show_default=True, help="Simulated nodes of 4 CPU, node-0 and so on.")
@click.option("--without-reprieve", is_flag=True, help="Only the stock scheduler, without extender.")
@click.option("--webhooks", is_flag=True, help="The admission server as well.")
@click.option(
    "--quota", is_flag=True, help="reprieve admits Workloads to ClusterQueues (quota.mode: Enforce)."
)
@click.option(
    "--settings",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="YAML for the Configuration of the webhooks, such as {webhooks: {gateOpeners: ...}}.",
)
def up(
    directory: Path, nodes: int, without_reprieve: bool, webhooks: bool, quota: bool, settings: Path | None
) -> None:
    """Start a control plane. Prints the path of its kubeconfig when everything is ready."""
    if (directory / "processes.json").exists():
        raise click.ClickException(
            f"{directory} has a control plane already (hack/cluster down --dir {directory})"
        )
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    options = Options(
        reprieve=not without_reprieve,
        reprieve_settings={"quota": {"mode": "Enforce"}} if quota else None,
        manifests=QUOTA_FOLDERS if quota else FOLDERS,
        webhooks=webhooks,
        webhooks_settings=yaml.safe_load(settings.read_text()) if settings else None,
        detached=True,
    )
    plane = ControlPlane(directory, options)
    try:
        plane.up()
        add_nodes(plane, nodes)
    except (BinariesError, ProcessFailedError) as error:
        plane.down()
        raise click.ClickException(str(error)) from None
    click.echo(plane.kubeconfig)


@main.command()
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), required=True, help="Its folder."
)
def down(directory: Path) -> None:
    """End the control plane of a folder. Its logs stay."""
    try:
        ended = take_down(directory)
    except FileNotFoundError:
        raise click.ClickException(f"no control plane runs in {directory}") from None
    click.echo(f"ended {', '.join(ended) or 'nothing, it had ended before'}", err=True)


def add_nodes(plane: ControlPlane, count: int) -> None:
    """Create simulated nodes, and wait until the scheduler may use them."""
    nodes = [node(f"node-{number}") for number in range(count)]
    plane.client.create_all(nodes)
    wait_for_nodes(plane.client, *(each["metadata"]["name"] for each in nodes))


if __name__ == "__main__":
    main(prog_name="hack/cluster")
