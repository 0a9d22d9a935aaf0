"""`hack/certificates`: makes a CA, the pair of the extender's replicas, and the scheduler's client pair, ready for
Secrets."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from hack.controlplane.pki import Authority, Pair

SERVICE = "reprieve"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to."
)
@click.option("--namespace", default="reprieve-system", show_default=True, help="Where the Service is.")
@click.option("--days", default=825, show_default=True, help="How long they are valid.")
def main(out: Path, namespace: str, days: int) -> None:
    """Write OUT/server and OUT/scheduler, each with ca.crt, tls.crt and tls.key, and OUT/ca with the CA's key.

    An existing CA is used again. So a second run renews the two pairs, and both sides still trust each other.
    """
    authority = Authority(out / "ca", "reprieve extender", days)
    host = f"{SERVICE}.{namespace}.svc"
    server = authority.replica(
        "server", [host, f"{SERVICE}.{namespace}", f"{host}.cluster.local", "localhost"]
    )
    scheduler = authority.client("scheduler", "kube-scheduler")
    for pair, folder in ((server, out / "server"), (scheduler, out / "scheduler")):
        _move(pair, folder, authority.pair.certificate)
        click.echo(folder)


def _move(pair: Pair, folder: Path, authority: Path) -> None:
    folder.mkdir(exist_ok=True, mode=0o700)
    pair.certificate.replace(folder / "tls.crt")
    pair.key.replace(folder / "tls.key")
    shutil.copyfile(authority, folder / "ca.crt")


if __name__ == "__main__":
    main(prog_name="hack/certificates")
