"""`python -m hack.controlplane`, or `hack/cluster`: a plane that stays up until it is taken down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
import yaml

from hack.controlplane.binaries import BinariesError
from hack.controlplane.components import FOLDERS, QUOTA_FOLDERS, Options
from hack.controlplane.fleet import ALLOWED, Fleet, manager_options, worker_options
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.objects import node
from hack.controlplane.plane import RECORDS, ControlPlane, take_down, up_together
from hack.controlplane.processes import ProcessFailedError

MANAGER: Final = "manager"
"""The folder of the manager's plane."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Start and end control planes on this machine's loopback interface."""


@main.command()
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), required=True, help="Its folder."
)
@click.option("--kubernetes", default="", help="Its minor version, such as 1.36; by default the newest.")
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
    directory: Path,
    kubernetes: str,
    nodes: int,
    without_reprieve: bool,
    webhooks: bool,
    quota: bool,
    settings: Path | None,
) -> None:
    """Start a control plane. Prints the path of its kubeconfig when everything is ready."""
    if (directory / RECORDS).exists():
        raise click.ClickException(
            f"{directory} has a control plane already (hack/cluster down --dir {directory})"
        )
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    options = Options(
        version=kubernetes,
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
@click.option("--worker", "workers", multiple=True, default=("alpha", "beta"), help="The name of a worker.")
def fleet(directory: Path, workers: Sequence[str]) -> None:
    """Start a manager and worker clusters, each with reprieve. Prints the paths of their kubeconfigs."""
    names = (MANAGER, *workers)
    if any((directory / name / RECORDS).exists() for name in names):
        raise click.ClickException(f"{directory} has control planes already")
    quota = {"quota": {"mode": "Enforce"}}
    manager = {**quota, "multikueue": {"allowedNetworks": list(ALLOWED)}}
    options = {MANAGER: manager_options(manager, start_reprieve=True)}
    options |= {name: worker_options(quota) for name in workers}
    planes = {
        name: ControlPlane(directory / name, replace(each, detached=True)) for name, each in options.items()
    }
    try:
        up_together(list(planes.values()))
        Fleet(planes.pop(MANAGER), planes).join(proxies=False)
    except (BinariesError, ProcessFailedError) as error:
        raise click.ClickException(str(error)) from None
    for name in names:
        click.echo(directory / name / "kubeconfig")


@main.command()
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), required=True, help="Its folder."
)
def down(directory: Path) -> None:
    """End the control plane of a folder, or a manager and its workers. The logs stay."""
    found = [each.parent for each in (directory / RECORDS, *directory.glob(f"*/{RECORDS}")) if each.exists()]
    if not found:
        raise click.ClickException(f"no control plane runs in {directory}")
    ended = [name for each in found for name in take_down(each)]
    click.echo(f"ended {', '.join(ended) or 'nothing, it had ended before'}", err=True)


def add_nodes(plane: ControlPlane, count: int) -> None:
    """Create simulated nodes, and wait until the scheduler may use them."""
    nodes = [node(f"node-{number}") for number in range(count)]
    plane.client.create_all(nodes)
    wait_for_nodes(plane.client, *(each["metadata"]["name"] for each in nodes))


if __name__ == "__main__":
    main(prog_name="hack/cluster")
