"""Least privilege, proved by what the whole run did: nothing was refused, and nothing is granted in vain.

Runs last, and waits for the tests that other processes still run (see conftest.py).
"""

from __future__ import annotations

import pytest

from tests.e2e.audit import AuditTrail, Findings, granted
from tests.e2e.order import HERE, SEVERAL, is_live
from tests.e2e.support import FOREIGN, wait_for

OTHERS_SECONDS = 900.0
"""The longest file of tests takes a few minutes on a busy machine."""


@pytest.fixture(scope="module")
def findings(request: pytest.FixtureRequest, audit_trail: AuditTrail) -> Findings:
    """What our services did in all scenarios that were chosen."""
    if FOREIGN:
        pytest.skip("the audit log of this cluster is not ours to read")
    here = {item.nodeid for item in request.session.items if is_live(item.path)}
    others = {nodeid for nodeid in here if "test_audit.py" not in nodeid}
    wait_for(
        lambda: not audit_trail.missing(others),
        OTHERS_SECONDS,
        lambda: f"some tests do not end: {sorted(audit_trail.missing(others))}",
    )
    return audit_trail.findings()


def test_none_of_our_identities_was_refused(findings: Findings) -> None:
    assert findings.refused == []


def test_every_right_that_is_granted_was_used(request: pytest.FixtureRequest, findings: Findings) -> None:
    if not ran_everything(request.session):
        pytest.skip("only the whole suite uses every right")
    assert granted() - findings.used.keys() == set()


def ran_everything(session: pytest.Session) -> bool:
    """Whether no file of scenarios was left out, and no test deselected."""
    options = session.config.option
    files = {*HERE.glob("test_*.py"), *SEVERAL.glob("test_*.py")}
    return files <= {item.path for item in session.items} and not (
        options.keyword or getattr(options, "lf", False)
    )
