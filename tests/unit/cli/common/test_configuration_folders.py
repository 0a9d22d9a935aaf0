"""A Configuration that is divided into the files of a folder, as a mounted ConfigMap has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from cli.common.configuration import WHOLE, Configuration, ConfigurationError, load, parse
from tests.kit.mounted import mounted

HEAD = "apiVersion: reprieve.dev/v1alpha1\nkind: Configuration\n"
BASE = HEAD + "extender: {plainHTTP: true, bindAddress: 127.0.0.1}\nops: {port: 9080}\n"
OBSERVE, ENFORCE = (
    HEAD + "quota: {mode: Observe}\n",
    HEAD + "planning: {mode: Enforce}\nquota: {mode: Enforce}\n",
)
GATES = HEAD + "planning: {gates: Off}\nfeatureGates: {TimeBasedSamePriorityPreemption: false}\n"
BOTH = (
    "planning: {mode: Enforce, gates: Off}\nquota: {mode: Enforce}\n"
    "featureGates: {TimeBasedSamePriorityPreemption: false}\n"
)


def test_the_files_of_a_mounted_config_map_make_one_configuration(tmp_path: Path) -> None:
    """A kubelet has the files in a hidden folder, and links to them."""
    folder = mounted(
        tmp_path, {"base.yaml": BASE, "gates.yml": GATES, "quota.json": ENFORCE, "notes.txt": "- x"}
    )
    assert load(folder).configuration == parse(BASE + BOTH)


def test_a_folder_with_one_file_is_that_file(tmp_path: Path) -> None:
    assert load(mounted(tmp_path, {"base.yaml": BASE})).configuration == parse(BASE)


def test_hidden_and_other_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    for name in (".base.yaml.swp", ".hidden.yaml", "base.yaml~", "base.yaml.orig", "README"):
        (tmp_path / name).write_text("no: configuration")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "quota.yaml").write_text(ENFORCE)
    assert load(tmp_path).configuration == parse(BASE)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, ": has no .yaml, .yml or .json file"),
        ({"notes.txt": BASE}, ": has no .yaml, .yml or .json file"),
        ({"a.yaml": BASE, "b.yaml": ""}, "/b.yaml: expected one document, found 0"),
        ({"a.yaml": BASE, "b.yaml": "- a"}, "/b.yaml: expected an object, got a list"),
        ({"a.yaml": BASE, "b.yaml": "a: b: c"}, "/b.yaml: line 1, column 5: "),
        ({"a.yaml": BASE, "b.yaml": "kind: Configuration\n"}, "/b.yaml: apiVersion: is missing"),
        ({"a.yaml": BASE, "b.yaml": "quota: {mode: Observe}"}, "/b.yaml: apiVersion: is missing"),
        (
            {"a.yaml": BASE, "b.yaml": HEAD.replace("v1alpha1", "v9")},
            "/b.yaml: apiVersion: invalid enum value",
        ),
        ({"a.yaml": BASE, "b.yaml": HEAD.replace("Conf", "conf")}, "/b.yaml: kind: invalid enum value"),
        ({"a.yaml": BASE, "b.yaml": HEAD + "quoat: {}"}, "/b.yaml: quoat: is no such field"),
        ({"a.yaml": BASE, "b.yaml": HEAD + "ops: {prot: 1}"}, "/b.yaml: ops.prot: is no such field"),
        ({"a.yaml": BASE, "b.yaml": HEAD + "quota: {writesInFlight: 0}"}, "/b.yaml: quota.writesInFlight: "),
        (
            {"a.yaml": BASE, "b.yaml": HEAD + "featureGates: {No: true}"},
            "/b.yaml: featureGates.No: is not a feature gate",
        ),
        (
            {"a.yaml": BASE, "b.yaml": HEAD + "planning: {score: {terms: [Age]}}"},
            "/b.yaml: planning.score.terms[0]: ",
        ),
        (
            {"a.yaml": BASE, "b.yaml": HEAD + "multikueue: {}"},
            "/b.yaml: multikueue: needs quota.mode Enforce, which is Off",
        ),
        (
            {
                "a.yaml": HEAD + "extender: {port: 1}",
                "b.yaml": HEAD + "extender: {tls: {certFile: a, keyFile: b}}",
            },
            "/b.yaml: extender.tls.clientCAFile: is missing",
        ),
        (
            {"a.yaml": HEAD + "extender: {port: 1}", "b.yaml": HEAD + "extender: {bindAddress: 127.0.0.1}"},
            ": extender.tls: is missing",
        ),
        (
            {"a.yaml": BASE, "b.yaml": HEAD + "ops: {port: 1}"},
            ": ops.port: is 9080 in a.yaml, and 1 in b.yaml",
        ),
        (
            {"a.yaml": BASE, "b.yaml": OBSERVE, "c.yaml": ENFORCE},
            ': quota.mode: is "Observe" in b.yaml, and "Enforce" in c.yaml',
        ),
        (
            {"a.yaml": HEAD + "extender: null", "b.yaml": HEAD + "extender: {port: 1}"},
            ': extender: is null in a.yaml, and {"port": 1} in b.yaml',
        ),
        (
            {
                "a.yaml": HEAD + "jobs: {managedJobsNamespaceSelector: {matchLabels: {a: b}}}",
                "b.yaml": HEAD + "jobs: {managedJobsNamespaceSelector: {matchLabels: {c: d}}}",
            },
            ": jobs.managedJobsNamespaceSelector: is ",
        ),
    ],
)
def test_errors_name_file_and_field(tmp_path: Path, files: dict[str, str], message: str) -> None:
    folder = mounted(tmp_path, files)
    with pytest.raises(ConfigurationError) as caught:
        load(folder)
    assert str(caught.value).startswith(f"{folder}{message}")


def test_equal_values_are_no_conflict(tmp_path: Path) -> None:
    """Off without quotes and with quotes is the same value."""
    quoted = GATES.replace("Off", "'Off'")
    loaded = load(mounted(tmp_path, {"a.yaml": BASE, "b.yaml": GATES, "c.yaml": quoted}))
    assert loaded.configuration.planning.gates == "Off"


def test_what_is_named_like_a_file_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "quota.yaml").mkdir()
    with pytest.raises(ConfigurationError, match=r"/quota\.yaml: Is a directory$"):
        load(tmp_path)
    (tmp_path / "quota.yaml").rmdir()
    (tmp_path / "quota.yaml").symlink_to("missing")
    with pytest.raises(ConfigurationError, match=r"/quota\.yaml: No such file or directory$"):
        load(tmp_path)


def test_the_place_of_a_field(tmp_path: Path) -> None:
    source = load(mounted(tmp_path, {"base.yaml": BASE, "quota.yaml": ENFORCE}))
    assert source.place("quota.mode") == source.path / "quota.yaml"
    assert source.place("extender.peers.host") == source.path / "base.yaml"
    assert source.place("planning.confirmation") == source.path / "quota.yaml"
    assert source.place("jobs.defaultQueue") == source.path
    (tmp_path / "one.yaml").write_text(BASE)
    alone = load(tmp_path / "one.yaml")
    assert alone.place("ops.port") == alone.place("quota.mode") == alone.path


def sections(kind: type[msgspec.Struct], path: str = "") -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """The structs below this one, outside lists, with their paths."""
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    hints = get_type_hints(kind)
    for name, encoded in names:
        hint = hints[name]
        for each in get_args(hint) if get_origin(hint) is Union or "|" in str(hint) else [hint]:
            if isinstance(each, type) and issubclass(each, msgspec.Struct):
                here = f"{path}.{encoded}".removeprefix(".")
                yield here, each
                yield from sections(each, here)


def test_selectors_are_one_value() -> None:
    """Both halves of a LabelSelector would select less than either."""
    found = {path for path, kind in sections(Configuration) if "match_labels" in kind.__struct_fields__}
    assert found == WHOLE
