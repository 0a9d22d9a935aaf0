"""Least privilege, proved by what the whole session did: nothing was refused, and nothing is granted in vain.

Runs last (see conftest.py).
"""

from __future__ import annotations

import pytest

from tests.e2e.audit import AuditTrail, granted
from tests.e2e.support import FOREIGN, HERE


def test_none_of_our_identities_was_refused(audit_trail: AuditTrail) -> None:
    if FOREIGN:
        pytest.skip("the audit log of this cluster is not ours to read")
    audit_trail.read_all()
    assert audit_trail.refused == []


def test_every_right_that_is_granted_was_used(
    request: pytest.FixtureRequest, audit_trail: AuditTrail
) -> None:
    if FOREIGN or not ran_everything(request.session):
        pytest.skip("only the whole suite uses every right")
    audit_trail.read_all()
    unused = granted() - audit_trail.used.keys()
    assert unused == set()


def ran_everything(session: pytest.Session) -> bool:
    """Whether no file of the folder was left out, and no test deselected."""
    options = session.config.option
    files = set(HERE.glob("test_*.py"))
    return files <= {item.path for item in session.items} and not (options.keyword or options.lf)
