"""What stands in for bases has the same Python, and the base that is run has no compiler."""

from __future__ import annotations

import pytest

from hack.release import standin


def test_what_is_run_is_part_of_what_builds() -> None:
    assert set(standin.RUN) < set(standin.BUILD)
    assert not {"gcc", "python3-venv", "python3-dev"} & set(standin.RUN)


def test_what_a_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert standin.needed() == ["buildah", "debootstrap", "unshare", "setpriv", "chroot", "root"]
