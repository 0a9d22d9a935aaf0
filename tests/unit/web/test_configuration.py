"""The section `page`: a process of its own, on loopback unless TLS and names are given."""

from __future__ import annotations

import pytest

from api.validation import FieldError
from cli.common.configuration import ConfigurationError, dump, parse
from web.configuration import PageConfiguration, check_page

HEAD = "apiVersion: reprieve.dev/v1alpha1\nkind: Configuration\n"
ALONE = HEAD + "extender: null\nplanning: {mode: Off}\n"
TLS = "{certFile: c, keyFile: k}"


def test_it_is_off_by_default_and_alone_it_is_enough() -> None:
    assert parse(HEAD + "extender: {plainHTTP: true, bindAddress: 127.0.0.1}").page is None
    assert parse(ALONE + "page: {}").page == PageConfiguration()
    with pytest.raises(ConfigurationError, match="nothing to serve"):
        parse(ALONE)


def test_its_defaults() -> None:
    text = dump(parse(ALONE + "page: {}"))
    page = text.partition("\npage:\n")[2]
    for line in (
        "bindAddress: 127.0.0.1",
        "port: 9445",
        "recheckSeconds: 30",
        "sessionSeconds: 28800",
        "tls: null",
        "hosts: []",
    ):
        assert f"  {line}\n" in page


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (
            HEAD + "extender: {plainHTTP: true, bindAddress: 127.0.0.1}\nplanning: {mode: Off}\npage: {}",
            "extender",
        ),
        (HEAD + "extender: null\npage: {}", "planning.mode"),
        (ALONE + "webhooks: {}\npage: {}", "webhooks"),
        (ALONE + "quota: {mode: Observe}\npage: {}", "quota.mode"),
        (ALONE + "quota: {mode: Enforce}\npage: {}", "quota.mode"),
    ],
)
def test_it_is_never_beside_those_who_act(text: str, field: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{field}: must be (null|Off) beside page"):
        parse(text)


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ("{bindAddress: 0.0.0.0}", "page.tls"),
        ("{bindAddress: 0.0.0.0, hosts: [a.example]}", "page.tls"),
        (f"{{bindAddress: 0.0.0.0, tls: {TLS}}}", "page.hosts"),
        (f"{{bindAddress: '::', tls: {TLS}}}", "page.hosts"),
        ("{hosts: [a.example, A.example]}", r"page.hosts\[1\]"),
        ("{hosts: ['a.example:9445']}", r"page.hosts\[0\]"),
        ("{hosts: ['*']}", r"page.hosts\[0\]"),
        ("{hosts: ['http://a.example']}", r"page.hosts\[0\]"),
        ("{recheckSeconds: 0}", "page.recheckSeconds"),
        ("{recheckSeconds: 86400}", "page.recheckSeconds"),
        ("{sessionSeconds: 1}", "page.sessionSeconds"),
        ("{token: x}", "page.token"),
    ],
)
def test_settings_that_are_wrong(section: str, field: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{field}"):
        parse(f"{ALONE}page: {section}")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_loopback_needs_no_tls(address: str) -> None:
    check_page(PageConfiguration(bind_address=address))


def test_another_address_with_tls_and_names() -> None:
    parse(f"{ALONE}page: {{bindAddress: 0.0.0.0, tls: {TLS}, hosts: [page.example, 192.0.2.1, 'fd00::1']}}")
    with pytest.raises(FieldError):
        check_page(PageConfiguration(bind_address="page.example"))
