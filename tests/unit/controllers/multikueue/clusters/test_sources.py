"""Where kubeconfigs are read from: Secrets, and regular files below one folder."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.checks import MultiKueueCluster
from api.meta import ObjectMeta
from controllers.multikueue.clusters import sources as sources_module
from controllers.multikueue.clusters.kubeconfigs import (
    BAD,
    INSECURE,
    MOST_BYTES,
    Access,
    KubeconfigError,
    parse,
)
from controllers.multikueue.clusters.sources import KubeconfigSecret, Sources, read_file, secrets_of
from runtime.mirror.objects import Objects
from tests.kit.multikueue_kubeconfigs import SECRET, encoded, kubeconfig, text_of


def refusal(folder: Path | None, location: Path | str) -> KubeconfigError:
    with pytest.raises(KubeconfigError) as caught:
        read_file(None if folder is None else str(folder), str(location))
    return caught.value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text(SECRET)
    return tmp_path / "in"


def test_links_are_followed_as_long_as_they_stay_below_the_folder(folder: Path) -> None:
    """A mounted Secret is made of links."""
    (folder / "..2026").mkdir()
    (folder / "..2026" / "config").write_text("text")
    (folder / "..data").symlink_to("..2026")
    (folder / "config").symlink_to("..data/config")
    assert read_file(str(folder), str(folder / "config")) == b"text"
    (folder.parent / "link").symlink_to(folder)
    assert read_file(str(folder.parent / "link"), str(folder.parent / "link" / "config")) == b"text"


def test_nothing_outside_is_read(folder: Path) -> None:
    (folder / "out").symlink_to(folder.parent / "secret")
    (folder / "up").symlink_to(folder.parent)
    for location in (
        folder / "out",
        folder / "up" / "secret",
        folder.parent / "secret",
        f"{folder}/../secret",
        "in/config",
        "/etc/passwd",
        folder.parent / "missing",
    ):
        error = refusal(folder, location)
        assert error.reason == INSECURE
        assert SECRET not in error.message
    assert refusal(None, folder / "config").reason == INSECURE


def test_only_regular_files_are_read(folder: Path) -> None:
    """14738: a FIFO would hang the manager."""
    os.mkfifo(folder / "fifo")
    (folder / "inner").mkdir()
    (folder / "zero").symlink_to("/dev/zero")
    for name in ("fifo", "inner", "zero", ""):
        assert refusal(folder, folder / name).reason == INSECURE


def test_what_is_missing_is_bad(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "file").write_text("")
    for name in ("missing", "loop", "file/inner"):
        assert refusal(folder, folder / name).reason == BAD


def test_a_file_has_at_most_a_mebibyte(folder: Path) -> None:
    file = folder / "config"
    file.write_bytes(b"x" * MOST_BYTES)
    assert len(read_file(str(folder), str(file))) == MOST_BYTES
    file.write_bytes(b"x" * (MOST_BYTES + 1))
    assert refusal(folder, file).reason == INSECURE


def cluster(**source: Any) -> MultiKueueCluster:
    value = {"metadata": {"name": "c"}, "spec": {"clusterSource": source}}
    return msgspec.convert(value, MultiKueueCluster)


def secret(data: dict[str, str] | None) -> KubeconfigSecret:
    meta = {"name": "s", "namespace": "ns"}
    return msgspec.convert({"metadata": meta, "data": data}, KubeconfigSecret)


NAMED = {"kubeConfig": {"location": "s"}}


async def test_a_secret_of_the_namespace_is_read_and_parsed_once() -> None:
    secrets: Objects[KubeconfigSecret] = Objects()
    sources = Sources("ns", None, secrets)
    secrets.upsert(secret({"kubeconfig": encoded(text_of(kubeconfig()))}))
    access = await sources.access(cluster(**NAMED))
    assert access.token == SECRET
    assert await sources.access(cluster(**NAMED)) is access
    secrets.upsert(secret({"kubeconfig": encoded(text_of(kubeconfig(user={"token": "new"})))}))
    assert (await sources.access(cluster(**NAMED))).token == "new"


async def test_an_unchanged_fault_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """To parse a large text takes a second, and attempts come for as long as it is there."""
    parsed: list[bytes] = []

    def count(text: bytes) -> Access:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(sources_module, "parse", count)
    secrets: Objects[KubeconfigSecret] = Objects()
    sources = Sources("ns", None, secrets)
    for text in ("{", "[]", text_of(kubeconfig()).decode(), "{"):
        secrets.upsert(secret({"kubeconfig": encoded(text.encode())}))
        for _ in range(2):
            with suppress(KubeconfigError) if text[0] in "{[" else nullcontext():
                await sources.access(cluster(**NAMED))
                assert text[0] not in "{["
    assert len(parsed) == 4


async def test_a_file_is_read_again_when_it_changes(folder: Path) -> None:
    sources = Sources("ns", str(folder), Objects())
    named = cluster(kubeConfig={"location": str(folder / "config"), "locationType": "Path"})
    for token in ("one", "two"):
        (folder / "config").write_bytes(text_of(kubeconfig(user={"token": token})))
        assert (await sources.access(named)).token == token


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "has no key kubeconfig"),
        ({"other": "eA=="}, "has no key kubeconfig"),
        ({"kubeconfig": f"%{SECRET}"}, "kubeconfig is not base64"),
    ],
)
async def test_a_secret_that_cannot_be_used_is_named(data: dict[str, str] | None, message: str) -> None:
    secrets: Objects[KubeconfigSecret] = Objects()
    secrets.upsert(secret(data))
    with pytest.raises(KubeconfigError, match=message) as caught:
        await Sources("ns", None, secrets).access(cluster(**NAMED))
    assert caught.value.reason == BAD
    assert SECRET not in caught.value.message


async def test_what_is_missing_has_its_reason() -> None:
    sources = Sources("ns", None, Objects())
    for given, reason in (
        (None, BAD),
        (cluster(**NAMED), BAD),
        (cluster(clusterProfileRef={"name": "p"}), "MultiKueueClusterProfileFeatureDisabled"),
    ):
        with pytest.raises(KubeconfigError) as caught:
            await sources.access(given)
        assert caught.value.reason == reason


def test_secrets_of_one_namespace_are_watched_and_only_one_key_is_read() -> None:
    assert secrets_of("ns").path == "/api/v1/namespaces/ns/secrets"
    read = secret({"kubeconfig": "eA==", "other": SECRET})
    assert SECRET not in repr(read)
    assert read.metadata == ObjectMeta("s", "ns")
