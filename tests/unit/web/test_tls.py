"""The page with `page.tls`: a handshake over a socket, also after the files have changed."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from hack.controlplane.pki import Authority, Pair
from tests.kit.clock import PATIENCE_SECONDS
from tests.unit.web.page_stage import HOST, Page, files_page
from web.configuration import CertificateConfiguration, PageConfiguration


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "page")


@pytest.fixture
def pair(authority: Authority) -> Pair:
    return authority.server("server", ["localhost", HOST])


def settings(pair: Pair) -> PageConfiguration:
    files = CertificateConfiguration(
        cert_file=str(pair.certificate), key_file=str(pair.key), poll_seconds=0.05
    )
    return PageConfiguration(port=0, tls=files)


async def answer(page: Page, context: ssl.SSLContext | None, host: str = "localhost") -> tuple[bytes, bytes]:
    """The status line, and the certificate that the server has shown."""
    name = "localhost" if context is not None else None
    reader, writer = await asyncio.open_connection(HOST, page.port, ssl=context, server_hostname=name)
    try:
        writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE_SECONDS):
            line = await reader.readline()
        made = writer.get_extra_info("ssl_object")
        return line, made.getpeercert(binary_form=True) if made is not None else b""
    finally:
        writer.close()


async def ready(page: Page) -> None:
    """Until there is a certificate."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if page.service.checks()["certificate"]() is None:
                return
            await asyncio.sleep(0.01)


async def test_the_files_are_read_again_when_they_change(authority: Authority, pair: Pair) -> None:
    trusting = ssl.create_default_context(cafile=str(authority.pair.certificate))
    async with files_page(settings=settings(pair)) as page:
        await ready(page)
        line, first = await answer(page, trusting)
        assert line == b"HTTP/1.1 200 OK\r\n"
        authority.server("server", ["localhost", HOST])  # the same files
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if (await answer(page, trusting))[1] != first:
                    break
                await asyncio.sleep(0.05)
        assert (await answer(page, trusting, "evil.example"))[0] == b"HTTP/1.1 403 Forbidden\r\n"


async def test_without_tls_nothing_is_said(pair: Pair) -> None:
    """Neither to a request in plain text, nor to who knows an older protocol only."""
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    old.set_ciphers("AES128-SHA:@SECLEVEL=0")  # no forward secrecy
    async with files_page(settings=settings(pair)) as page:
        await ready(page)
        assert (await answer(page, None))[0] == b""
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await answer(page, old)


async def test_before_there_is_a_certificate_no_handshake_succeeds(tmp_path: Path) -> None:
    absent = Pair(tmp_path / "absent.pem", tmp_path / "absent.key")
    async with files_page(settings=settings(absent)) as page:
        assert page.service.checks()["certificate"]() is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await answer(page, context)
