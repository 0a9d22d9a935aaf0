"""Who somebody is, asked with their token over a session of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from hack.controlplane.pki import Authority
from kube.access import Access, is_granted
from kube.client import ApiClient
from kube.errors import ApiError
from kube.identity import User, who
from tests.kit.scripted import Script, faulty_server


class Reviews(Script):
    """Answers with what it was asked, and a cookie that nobody may send back."""

    def __init__(self, info: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.info = info or {"username": "anna"}
        self.tokens: list[str] = []
        self.cookies: list[str] = []
        self.bodies: list[Any] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization", ""))
        self.cookies.append(request.headers.get("Cookie", ""))
        self.bodies.append(await request.json())
        answer = web.json_response({"status": {"userInfo": self.info, "allowed": True}}, status=201)
        answer.set_cookie("user", self.tokens[-1])
        return answer


async def test_a_user_is_a_name_groups_and_extra() -> None:
    info = {"username": "anna", "uid": "1", "groups": ["b", "a"], "extra": {"z": ["2", "1"], "y": []}}
    async with faulty_server(Reviews(info)) as client:
        found = await who(client)
        assert found == User("anna", frozenset({"a", "b"}), (("y", ()), ("z", ("2", "1"))))
        assert hash(found) == hash(await who(client))


async def test_each_token_asks_for_its_own_user() -> None:
    script = Reviews()
    async with faulty_server(script) as client:
        one, other = client.with_token("one"), client.with_token("other")
        await who(one)
        await who(other)
        await is_granted(one, Access("", "pods", "list"), "team-a")
    assert script.tokens == ["Bearer one", "Bearer other", "Bearer one"]
    assert script.bodies[-1]["spec"]["resourceAttributes"] == {
        "group": "",
        "resource": "pods",
        "verb": "list",
        "namespace": "team-a",
    }


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX: y", "a\n", "ä", "x" * 20_000, "\x00"])
async def test_what_cannot_be_a_token_is_not_sent(token: str) -> None:
    script = Reviews()
    async with faulty_server(script) as client:
        with pytest.raises(ApiError) as caught:
            client.with_token(token)
    assert caught.value.status == 401
    assert not token or token not in str(caught.value)
    assert script.tokens == []


async def test_an_answer_that_is_none_is_an_error() -> None:
    class Broken(Reviews):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            return web.json_response({"status": {}}, status=201)

    async with faulty_server(Broken()) as client:
        with pytest.raises(ApiError, match="cannot be read"):
            await who(client)


def kubeconfig(folder: Path, user: dict[str, str], server: str = "https://127.0.0.1:1") -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


async def test_a_session_with_a_client_certificate_takes_no_token(tmp_path: Path) -> None:
    """The API server would take whoever has the token for whoever has the certificate."""
    pair = Authority(tmp_path / "ca", "ca").client("somebody", "somebody")
    with_certificate = kubeconfig(
        tmp_path, {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    )
    async with ApiClient.connect(with_certificate) as client:
        with pytest.raises(ApiError, match="client certificate") as caught:
            client.with_token("token")
    assert caught.value.status == 0


async def test_a_session_that_impersonates_takes_no_token(tmp_path: Path) -> None:
    async with ApiClient.connect(kubeconfig(tmp_path, {"token": "mine"}), user="otto") as client:
        with pytest.raises(ApiError, match="impersonate"):
            client.with_token("token")


async def test_no_cookie_of_one_user_is_sent_for_another(tmp_path: Path) -> None:
    script = Reviews()
    async with (
        faulty_server(script) as served,
        ApiClient.connect(kubeconfig(tmp_path, {"token": "mine"}, served.server)) as client,
    ):
        await who(client.with_token("one"))
        await who(client.with_token("other"))
        await who(client)
    assert script.tokens == ["Bearer one", "Bearer other", "Bearer mine"]
    assert script.cookies == ["", "", ""]
