from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from api.validation import FieldError
from cli.common.configuration import Configuration, dump, parse
from cli.main import reprieve
from cli.serve import command

HEAD = "apiVersion: reprieve.dev/v1alpha1\nkind: Configuration\n"
LOOPBACK = (
    HEAD
    + "extender: {plainHTTP: true, bindAddress: 127.0.0.1, port: 0}\nops: {bindAddress: 127.0.0.1, port: 0}\n"
)

ENFORCE = "planning: {mode: Enforce}\nquota: {mode: Enforce}\n"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(reprieve, ["serve", *arguments])


def written(folder: Path, text: str) -> str:
    path = folder / "config.yaml"
    path.write_text(text)
    return str(path)


def test_print_config_without_a_file_prints_the_defaults() -> None:
    result = invoke("--print-config")
    assert (result.exit_code, result.stdout) == (0, dump(Configuration()))


def test_print_config_completes_the_file(tmp_path: Path) -> None:
    result = invoke("--config", written(tmp_path, LOOPBACK), "--print-config")
    assert result.exit_code == 0
    assert parse(result.stdout) == parse(LOOPBACK)
    assert "planDeadlineSeconds: 300" in result.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "config.yaml: extender.tls: is missing"),
        (LOOPBACK + "kubeconfg: a", "config.yaml: kubeconfg: is no such field"),
        (LOOPBACK + "kubeconfig: no-such-file", "config.yaml: kubeconfig: no-such-file: no such file"),
    ],
)
def test_bad_configurations_end_it(tmp_path: Path, text: str, message: str) -> None:
    result = invoke("--config", written(tmp_path, text))
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    written(tmp_path, LOOPBACK)
    (tmp_path / "quota.yaml").write_text(HEAD + ENFORCE)
    result = invoke("--config", str(tmp_path), "--print-config")
    assert (result.exit_code, parse(result.stdout)) == (0, parse(LOOPBACK + ENFORCE))
    (tmp_path / "again.yaml").write_text(HEAD + "quota: {mode: Observe}\n")
    result = invoke("--config", str(tmp_path))
    assert (result.exit_code, result.stderr) == (
        2,
        f'Error: {tmp_path}: quota.mode: is "Observe" in again.yaml, and "Enforce" in quota.yaml\n',
    )


def test_the_file_of_a_folder_is_named_whose_field_names_a_missing_file(tmp_path: Path) -> None:
    written(tmp_path, LOOPBACK)
    (tmp_path / "who.yaml").write_text(HEAD + "kubeconfig: no-such-file\n")
    result = invoke("--config", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path}/who.yaml: kubeconfig: no-such-file: no such file" in result.stderr


def test_a_file_is_needed() -> None:
    assert invoke().exit_code == 2
    result = invoke("--config", "no-such-file")
    assert result.exit_code == 2
    assert "no-such-file: No such file or directory" in result.stderr


@pytest.mark.parametrize(("told", "code"), [(True, 0), (False, 1)])
def test_it_runs_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: bool, code: int) -> None:
    """The exit code says whether a signal stopped it, or a part has failed."""
    ran: list[Configuration] = []

    async def run(configuration: Configuration) -> bool:
        ran.append(configuration)
        return told

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(command, "configure_logging", lambda: None)
    assert invoke("--config", written(tmp_path, LOOPBACK)).exit_code == code
    assert ran == [parse(LOOPBACK)]


def test_what_the_operator_must_mend_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(_: Configuration) -> None:
        raise OSError(98, "address already in use")

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(command, "configure_logging", lambda: None)
    result = invoke("--config", written(tmp_path, LOOPBACK))
    assert result.exit_code == 1
    assert result.stderr == "Error: [Errno 98] address already in use\n"


def test_a_file_that_the_configuration_names_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(_: Configuration) -> None:
        raise FieldError("planning.confirmation", "cannot be Require")

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(command, "configure_logging", lambda: None)
    path = written(tmp_path, LOOPBACK)
    require = tmp_path / "require.yaml"
    for named, place in ((path, path), (str(tmp_path), str(require))):
        result = invoke("--config", named)
        assert (result.exit_code, result.stderr) == (
            2,
            f"Error: {place}: planning.confirmation: cannot be Require\n",
        )
        require.write_text(HEAD + "planning: {confirmation: Require}\n")
