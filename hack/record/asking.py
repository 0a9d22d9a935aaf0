"""Asks one question in this process, and says what came out: exit status, standard output, standard error."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import Final
from unittest import mock

from click.testing import CliRunner

from cli.main import reprieve
from hack.record.cases import Case
from hack.record.cluster import serving

__all__ = ["ROOT", "ask"]

ROOT: Final = Path(__file__).parents[2]
LINKED: Final = ("examples", "manifests", "docs")
"""Folders of the checkout that questions name."""
ENVIRONMENT: Final = {"NO_COLOR": None, "FORCE_COLOR": None, "COLUMNS": None, "POD_IP": None}
KUBECONFIG: Final = "kubeconfig"


def ask(case: Case) -> str:
    """The question and its answer as text. It is the same for the same question, wherever the checkout is."""
    with _folder(case), _address(case) as address, mock.patch("time.time", return_value=case.moment):
        here = os.getcwd()
        kubeconfig = f"{here}/{KUBECONFIG}" if address else None
        environment = {**ENVIRONMENT, "HOME": here, "KUBECONFIG": kubeconfig}
        result = CliRunner().invoke(
            reprieve, case.arguments, input=case.stdin, env=environment, prog_name="reprieve"
        )
    parts = [
        f"$ reprieve {' '.join(case.arguments)}\n",
        *(f"cluster: {path}\n" for path in case.cluster),
        *(f"refused: {plural}\n" for plural in case.refused),
        f"exit status {result.exit_code}\n",
        f"---- standard output\n{result.stdout}",
        f"---- standard error\n{result.stderr}",
    ]
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        parts.append(f"---- exception\n{result.exception!r}\n")
    text = "".join(parts).replace(here, "HERE")
    return text.replace(address, "ADDRESS") if address else text


@contextmanager
def _address(case: Case) -> Iterator[str]:
    """Host and port of the API server of the kubeconfig; "" if there is none."""
    with ExitStack() as stack:
        address = stack.enter_context(serving(case.cluster, case.refused)) if case.cluster else ""
        if address:
            Path(KUBECONFIG).write_text(json.dumps(_kubeconfig(address)))
        yield address


def _kubeconfig(address: str) -> dict[str, object]:
    context = {"cluster": "c", "user": "u", "namespace": "research"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://{address}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": context}],
        "current-context": "x",
    }


@contextmanager
def _folder(case: Case) -> Iterator[None]:
    folder = Path(tempfile.mkdtemp(prefix="record-"))
    try:
        for name in LINKED:
            (folder / name).symlink_to(ROOT / name)
        for name, text in case.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        with chdir(folder):
            yield
    finally:
        shutil.rmtree(folder)
