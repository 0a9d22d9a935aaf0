"""Feature gates."""

from __future__ import annotations

import pytest

from api.validation import FieldError
from runtime.gates import DEFAULTS, GATES, Gate, completed

SOME = (Gate("Beta", default=True), Gate("Alpha", default=False), Gate("Never", default=False, locked=True))


def test_defaults_are_filled_in() -> None:
    assert completed({}) == DEFAULTS == {gate.name: gate.default for gate in GATES}
    assert completed({"Alpha": True}, gates=SOME) == {"Beta": True, "Alpha": True, "Never": False}
    assert completed({"Beta": False, "Never": False}, gates=SOME)["Beta"] is False


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"Gamma": True},
            r"^gates\.Gamma: is not a feature gate of this version \(known: Alpha, Beta, Never\)$",
        ),
        ({"Never": True}, r"^gates\.Never: is locked to false: it is not finished$"),
    ],
)
def test_others_are_refused(settings: dict[str, bool], message: str) -> None:
    with pytest.raises(FieldError, match=message):
        completed(settings, "gates", gates=SOME)
