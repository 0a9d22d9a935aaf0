"""What a kubeconfig of a worker cluster may have (14738)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from controllers.multikueue.clusters.kubeconfigs import BAD, INSECURE, MOST_BYTES, KubeconfigError, parse
from tests.kit.multikueue_kubeconfigs import CERTIFICATE, KEY, SECRET, encoded, kubeconfig, text_of

Change = Callable[[dict[str, Any]], object]


def refusal(text: bytes) -> KubeconfigError:
    with pytest.raises(KubeconfigError) as caught:
        parse(text)
    return caught.value


def test_a_token_and_an_authority_are_taken() -> None:
    access = parse(text_of(kubeconfig(cluster={"tls-server-name": "inner.example"})))
    assert (access.server, access.token) == ("https://worker.example:6443", SECRET)
    assert access.authorities.encode() == CERTIFICATE
    assert access.tls_server_name == "inner.example"
    assert SECRET not in repr(access)


def test_a_client_certificate_is_taken_and_json_is_yaml() -> None:
    value = kubeconfig()
    value["users"][0]["user"] = {
        "client-certificate-data": encoded(CERTIFICATE),
        "client-key-data": encoded(KEY),
    }
    access = parse(str(value).replace("'", '"').encode())
    assert (access.certificate, access.key, access.token) == (CERTIFICATE, KEY, "")


def test_other_contexts_and_a_namespace_do_not_matter() -> None:
    value = kubeconfig()
    value["contexts"] += [
        {"name": "other", "context": {"cluster": "gone", "user": "manager", "namespace": "n"}}
    ]
    value["preferences"] = {}
    assert parse(text_of(value)).token == SECRET


UNSAFE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "exec": ({}, {"exec": {"command": "/bin/sh", "args": [SECRET]}}, "users[0].user.exec"),
    "auth provider": ({}, {"auth-provider": {"name": "gcp"}}, "users[0].user.auth-provider"),
    "token file": ({}, {"tokenFile": f"/etc/{SECRET}"}, "users[0].user.tokenFile"),
    "certificate file": ({}, {"client-certificate": f"/etc/{SECRET}"}, "users[0].user.client-certificate"),
    "key file": ({}, {"client-key": f"/etc/{SECRET}"}, "users[0].user.client-key"),
    "user name": ({}, {"username": SECRET}, "users[0].user.username"),
    "password": ({}, {"password": SECRET}, "users[0].user.password"),
    "impersonation": ({}, {"as": SECRET}, "users[0].user.as"),
    "impersonated groups": ({}, {"as-groups": [SECRET]}, "users[0].user.as-groups"),
    "impersonated uid": ({}, {"as-uid": SECRET}, "users[0].user.as-uid"),
    "impersonated extra": ({}, {"as-user-extra": {"a": [SECRET]}}, "users[0].user.as-user-extra"),
    "unverified": ({"insecure-skip-tls-verify": True}, {}, "clusters[0].cluster.insecure-skip-tls-verify"),
    "authority file": (
        {"certificate-authority": f"/{SECRET}"},
        {},
        "clusters[0].cluster.certificate-authority",
    ),
    "proxy": ({"proxy-url": f"http://{SECRET}@proxy"}, {}, "clusters[0].cluster.proxy-url"),
    "extension": ({"extensions": [{"name": SECRET}]}, {}, "clusters[0].cluster.extensions"),
    "http": ({"server": f"http://{SECRET}.example"}, {}, "clusters[0].cluster.server: must be https"),
    "user in the URL": ({"server": f"https://{SECRET}@worker"}, {}, "server: must not have a user"),
    "password in the URL": ({"server": f"https://a:{SECRET}@worker"}, {}, "server: must not have a user"),
    "query": ({"server": f"https://worker?{SECRET}"}, {}, "server: must not have a query"),
    "fragment": ({"server": f"https://worker#{SECRET}"}, {}, "server: must not have a query"),
    "unknown": ({}, {SECRET: "x"}, "users[0].user.?: an unknown field"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_each_unsafe_kubeconfig_is_refused_with_its_reason(name: str) -> None:
    """14738."""
    cluster, user, message = UNSAFE[name]
    error = refusal(text_of(kubeconfig(cluster=cluster, user=user)))
    assert error.reason == INSECURE
    assert message in error.message
    assert SECRET not in error.message


@pytest.mark.parametrize("name", UNSAFE)
def test_what_the_current_context_does_not_name_is_refused_as_well(name: str) -> None:
    cluster, user, _ = UNSAFE[name]
    value, other = kubeconfig(), kubeconfig(cluster=cluster, user=user)
    for field in ("clusters", "users"):
        value[field].append(other[field][0] | {"name": "other"})
    assert refusal(text_of(value)).reason == INSECURE


def change(path: str, value: object) -> Change:
    def apply(config: dict[str, Any]) -> None:
        *way, last = path.split(".")
        found: Any = config
        for part in way:
            found = found[int(part) if part.isdigit() else part]
        if value is None:
            del found[last]
        else:
            found[last] = value

    return apply


BROKEN: dict[str, tuple[Change, str]] = {
    "no server": (change("clusters.0.cluster.server", None), "clusters[0].cluster.server: is missing"),
    "no host": (change("clusters.0.cluster.server", "https://"), "clusters[0].cluster.server"),
    "bad host": (change("clusters.0.cluster.server", "https://a_%zz b"), "clusters[0].cluster.server"),
    "bad port": (change("clusters.0.cluster.server", "https://a:99999"), "clusters[0].cluster.server"),
    "no credentials": (change("users.0.user.token", None), "users[0].user.token: is missing"),
    "token with a line": (change("users.0.user.token", f"{SECRET}\nX: y"), "users[0].user.token"),
    "token is a number": (change("users.0.user.token", 12345), "users[0].user.token: is not a text"),
    "no context": (change("current-context", None), "current-context: is missing"),
    "unknown context": (change("current-context", SECRET), "current-context: is not in contexts"),
    "unknown cluster": (change("contexts.0.context.cluster", SECRET), "contexts[].context.cluster"),
    "unknown user": (change("contexts.0.context.user", SECRET), "contexts[].context.user"),
    "no list": (change("users", {"a": 1}), "users: is not a list"),
    "no object": (change("users", [SECRET]), "users[0]: is not an object"),
    "no user": (change("users.0.user", None), "users[0].user: is missing"),
    "key without certificate": (change("users.0.user.client-key-data", encoded(KEY)), "only one of them"),
    "no base64": (change("clusters.0.cluster.certificate-authority-data", "%%%"), "is not base64 of PEM"),
    "no PEM": (
        change("clusters.0.cluster.certificate-authority-data", encoded(b"der")),
        "is not base64 of PEM",
    ),
    "other kind": (change("kind", "Pod"), "apiVersion and kind"),
    "TLS name": (change("clusters.0.cluster.tls-server-name", "a b"), "tls-server-name: is not a name"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_used_is_named(name: str) -> None:
    spoil, message = BROKEN[name]
    value = kubeconfig()
    spoil(value)
    error = refusal(text_of(value))
    assert error.reason == BAD
    assert message in error.message
    assert SECRET not in error.message


def test_a_name_that_is_there_twice_is_not_chosen_from() -> None:
    value = kubeconfig()
    value["users"].append(copy.deepcopy(value["users"][0]))
    assert "users[1].name: is there twice" in refusal(text_of(value)).message


@pytest.mark.parametrize(
    "text", [b"", b"- a", f"a: {SECRET}: b".encode(), b"a: 1\n---\nb: 2", b"\xff", b"[" * 5000]
)
def test_what_is_no_object_is_not_shown(text: bytes) -> None:
    error = refusal(text)
    assert error.reason == BAD
    assert SECRET not in error.message


def test_it_has_at_most_a_mebibyte() -> None:
    text = text_of(kubeconfig())
    assert parse(text + b" " * (MOST_BYTES - len(text))).token == SECRET
    assert refusal(text + b" " * (MOST_BYTES - len(text) + 1)).reason == INSECURE


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=4,
)
ALLOWED = {
    "clusters": {"server", "certificate-authority-data", "tls-server-name"},
    "users": {"token", "client-certificate-data", "client-key-data"},
}


@given(st.sampled_from(sorted(ALLOWED)), st.text(min_size=1, max_size=12), VALUES)
def test_no_other_field_is_ever_taken(kind: str, field: str, value: object) -> None:
    config = kubeconfig()
    inner = config[kind][0][kind.removesuffix("s")]
    if field in ALLOWED[kind]:
        return
    inner[field] = value
    error = refusal(text_of(config))
    assert error.reason == INSECURE
    assert SECRET not in error.message


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from("abc:-[]{}&*!|> \n\t'\"#"), max_size=40).map("".join).map(str.encode)
)
def test_any_text_is_refused_in_order(text: bytes) -> None:
    assert refusal(text).reason in (BAD, INSECURE)


@given(st.text(max_size=40))
def test_a_server_that_is_taken_is_https_without_a_user(text: str) -> None:
    for server in (text, f"https://{text}", f"https://{text}@host"):
        with suppress(KubeconfigError):
            access = parse(text_of(kubeconfig(cluster={"server": server})))
            assert access.server.startswith("https://")
            assert not set("?# \n\r") & set(access.server)
            assert URL(access.server).user is None


def test_only_another_token_is_used_in_place() -> None:
    access = parse(text_of(kubeconfig()))
    other = parse(text_of(kubeconfig(user={"token": "other"})))
    moved = parse(text_of(kubeconfig(cluster={"server": "https://elsewhere"}, user={"token": "other"})))
    assert access.differs_in_token_only(other)
    assert not access.differs_in_token_only(moved)
