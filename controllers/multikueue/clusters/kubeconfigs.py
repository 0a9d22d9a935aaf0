"""Reads a kubeconfig of a worker cluster. Pure: it opens no file and runs nothing.

Fields are allowed one by one, and all else is refused: what a kubeconfig can name beside them runs programs, reads
files, or turns checks off. Messages name the field and never its value.

See docs/decisions/0101.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any, Final

from yarl import URL

from api.yaml import Json, YamlError, documents

__all__ = ["BAD", "INSECURE", "MOST_BYTES", "Access", "KubeconfigError", "parse"]

BAD: Final = "BadKubeConfig"
INSECURE: Final = "InsecureKubeConfig"
MOST_BYTES: Final = 1024 * 1024

Object = dict[str, Json]

TOP: Final = frozenset(
    {"apiVersion", "kind", "clusters", "contexts", "current-context", "users", "preferences"}
)
CLUSTER: Final = frozenset({"server", "certificate-authority-data", "tls-server-name"})
USER: Final = frozenset({"token", "client-certificate-data", "client-key-data"})
CONTEXT: Final = frozenset({"cluster", "user", "namespace"})
KNOWN: Final = frozenset(
    {
        *("exec", "auth-provider", "tokenFile", "client-certificate", "client-key", "username", "password"),
        *("as", "as-uid", "as-groups", "as-user-extra", "certificate-authority", "insecure-skip-tls-verify"),
        *("proxy-url", "disable-compression", "extensions"),
    }
)
"""Fields of kubeconfigs that are refused by their names. Other names are not shown: in a file with a fault, a name may
be a part of a token."""
TOKEN: Final = re.compile(r"[\x21-\x7e]{1,65536}")
HOST: Final = re.compile(r"(?!-)[A-Za-z0-9._-]{1,253}(?<!-)")
PEM: Final = b"-----BEGIN "


class KubeconfigError(Exception):
    """A kubeconfig cannot be used. `reason` is that of the condition Active."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message

    @classmethod
    def bad(cls, message: str) -> KubeconfigError:
        """It cannot be read, or lacks something."""
        return cls(BAD, message)

    @classmethod
    def insecure(cls, message: str) -> KubeconfigError:
        """It has something that is not allowed."""
        return cls(INSECURE, message)


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """How to reach a cluster. It has no repr, because it has secrets."""

    server: str
    authorities: str = ""
    """PEM certificates that are trusted. Empty: those of the system."""
    tls_server_name: str = ""
    """The name in the server's certificate, if it is not that of the URL."""
    token: str = ""
    certificate: bytes = b""
    """PEM. Empty without a client certificate."""
    key: bytes = b""

    def differs_in_token_only(self, other: Access) -> bool:
        """Whether both have a token, and all else is equal."""
        parts = (self.server, self.authorities, self.tls_server_name, self.certificate, self.key)
        others = (other.server, other.authorities, other.tls_server_name, other.certificate, other.key)
        return bool(self.token and other.token) and parts == others


def parse(text: bytes) -> Access:
    """The access of the current context. Raises KubeconfigError."""
    root = _root(text)
    _only(root, TOP, "")
    if root.get("preferences"):
        raise KubeconfigError.insecure("preferences: is not allowed")
    clusters = _entries(root, "clusters", "cluster", CLUSTER)
    users = _entries(root, "users", "user", USER)
    contexts = _entries(root, "contexts", "context", CONTEXT)
    current = _text(root, "current-context", "")
    if not current:
        raise KubeconfigError.bad("current-context: is missing")
    _, context = _named(contexts, current, "current-context", "contexts")
    at, cluster = _named(
        clusters, _text(context, "cluster", "contexts[]."), "contexts[].context.cluster", "clusters"
    )
    of, user = _named(users, _text(context, "user", "contexts[]."), "contexts[].context.user", "users")
    return _access(cluster, f"clusters[{at}].cluster.", user, f"users[{of}].user.")


def _root(text: bytes) -> Object:
    if len(text) > MOST_BYTES:
        raise KubeconfigError.insecure("has more than 1 MiB")
    try:
        found = list(documents(text.decode()))
    except (YamlError, UnicodeDecodeError):
        raise KubeconfigError.bad("is not YAML") from None  # the error would show a part of the text
    if len(found) != 1 or not isinstance(found[0], dict):
        raise KubeconfigError.bad("is not one object")
    root = found[0]
    if root.get("apiVersion", "v1") != "v1" or root.get("kind", "Config") != "Config":
        raise KubeconfigError.bad("apiVersion and kind: not those of a kubeconfig")
    return root


def _only(value: Object, allowed: frozenset[str], at: str) -> None:
    for name in value:
        if name not in allowed:
            raise KubeconfigError.insecure(
                f"{at}{name}: is not allowed" if name in KNOWN else f"{at}?: an unknown field is not allowed"
            )


def _entries(root: Object, field: str, inner: str, allowed: frozenset[str]) -> dict[str, tuple[int, Object]]:
    """Number and object by name, all of them checked: no other context may have what this one must not have."""
    listed = root.get(field)
    if listed is None:
        listed = []
    if not isinstance(listed, list):
        raise KubeconfigError.bad(f"{field}: is not a list")
    entries: dict[str, tuple[int, Object]] = {}
    for number, entry in enumerate(listed):
        at = f"{field}[{number}]."
        if not isinstance(entry, dict):
            raise KubeconfigError.bad(f"{field}[{number}]: is not an object")
        _only(entry, frozenset({"name", inner}), at)
        value = entry.get(inner)
        if not isinstance(value, dict):
            raise KubeconfigError.bad(f"{at}{inner}: is missing or not an object")
        _only(value, allowed, f"{at}{inner}.")
        name = _text(entry, "name", at)
        if name in entries:
            raise KubeconfigError.bad(f"{at}name: is there twice")
        if field == "clusters":
            _server(value, f"{at}{inner}.")
        entries[name] = (number, value)
    return entries


def _named(entries: dict[str, tuple[int, Object]], name: str, field: str, where: str) -> tuple[int, Object]:
    if name not in entries:
        raise KubeconfigError.bad(f"{field}: is not in {where}")
    return entries[name]


def _text(value: Object, field: str, at: str) -> str:
    text = value.get(field)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise KubeconfigError.bad(f"{at}{field}: is not a text")
    return text


def _server(cluster: Object, at: str) -> str:
    """The URL of the server. Raises KubeconfigError."""
    text = _text(cluster, "server", at)
    if not text:
        raise KubeconfigError.bad(f"{at}server: is missing")
    try:
        url = URL(text)
        host, port = url.host, url.port
    except ValueError:
        raise KubeconfigError.bad(f"{at}server: is not a URL") from None
    if url.scheme != "https":
        raise KubeconfigError.insecure(f"{at}server: must be https")
    if url.user is not None or url.password is not None or "@" in url.raw_authority:
        raise KubeconfigError.insecure(f"{at}server: must not have a user")
    if url.query_string or url.fragment or "?" in text or "#" in text:
        raise KubeconfigError.insecure(f"{at}server: must not have a query or a fragment")
    if not host or not port or not text.isprintable() or not _is_host(host):
        raise KubeconfigError.bad(f"{at}server: has no host, or one that is neither a name nor an address")
    return str(url).rstrip("/")


def _is_host(host: str) -> bool:
    return HOST.fullmatch(host) is not None or ":" in host  # yarl has checked an IPv6 address


def _access(cluster: Object, at: str, user: Object, of: str) -> Access:
    token = _text(user, "token", of)
    if token and TOKEN.fullmatch(token) is None:
        raise KubeconfigError.bad(f"{of}token: has characters that no token has")
    name = _text(cluster, "tls-server-name", at)
    if name and HOST.fullmatch(name) is None:
        raise KubeconfigError.bad(f"{at}tls-server-name: is not a name")
    certificate = _pem(user, "client-certificate-data", of)
    key = _pem(user, "client-key-data", of)
    if bool(certificate) != bool(key):
        raise KubeconfigError.bad(
            f"{of}client-certificate-data and client-key-data: only one of them is there"
        )
    if not token and not certificate:
        raise KubeconfigError.bad(f"{of}token: is missing, and there is no client certificate")
    authorities = _pem(cluster, "certificate-authority-data", at)
    return Access(_server(cluster, at), authorities.decode("ascii"), name, token, certificate, key)


def _pem(value: Object, field: str, at: str) -> bytes:
    text: Any = _text(value, field, at)
    try:
        decoded = base64.b64decode("".join(text.split()), validate=True)
        decoded.decode("ascii")
    except (binascii.Error, ValueError):
        raise KubeconfigError.bad(f"{at}{field}: is not base64 of PEM") from None
    if decoded and PEM not in decoded:
        raise KubeconfigError.bad(f"{at}{field}: is not base64 of PEM")
    return decoded
