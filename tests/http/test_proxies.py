"""Proxies and certificates of the environment: which are used, and what a proxy sees."""

from __future__ import annotations

import traceback
from base64 import b64encode

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.retries import ONCE
from guardtui.http.secret import Secret, bearer
from tests.http.server import Answer, Server, Step, answer, reset, sends
from tests.http.times import JumpClock

KEY = "sk-test-0123456789/+abcdef"
OK = answer({"ok": True})
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("variables", "through_proxy"),
    [
        ({}, False),
        ({"HTTPS_PROXY": "http://{proxy}"}, True),
        ({"https_proxy": "{proxy}"}, True),
        ({"ALL_PROXY": "http://{proxy}"}, True),
        ({"HTTP_PROXY": "http://{proxy}"}, False),
        ({"HTTPS_PROXY": "http://{proxy}", "NO_PROXY": "*"}, False),
        ({"HTTPS_PROXY": "http://{proxy}", "NO_PROXY": ".invalid"}, False),
        ({"HTTPS_PROXY": "http://{proxy}", "NO_PROXY": "other"}, True),
    ],
)
async def test_https_goes_through_the_proxy_of_the_environment(
    variables: dict[str, str], through_proxy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Server(answer(status=502)) as proxy:
        for name, text in variables.items():
            monkeypatch.setenv(name, text.format(proxy=f"127.0.0.1:{proxy.port}"))
        async with RemoteClient(Endpoint.parse("https://service.invalid/v1"), timeout=2) as remote:
            with pytest.raises(ServiceError):
                await remote.request("GET", "/", retry=ONCE)
        assert proxy.connections == through_proxy


async def test_proxy_receives_credentials_but_no_content(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Server(answer(status=407)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{proxy.port}")
        async with RemoteClient(Endpoint.parse("https://service.example"), clock=JumpClock()) as it:
            with pytest.raises(ServiceError, match="cannot connect") as caught:
                await it.request("POST", "/", json="prompt", retry=ONCE)
        (request,) = proxy.received
    expected = b64encode(b"me:hunter2").decode()
    assert request.headers["proxy-authorization"] == f"Basic {expected}"
    assert b"prompt" not in request.raw
    assert "hunter2" not in repr(caught.value)
    assert expected not in repr(caught.value)


@pytest.mark.parametrize(
    ("response", "problem", "final"),
    [
        (answer(status=407), "407 Reason; write the proxy as http://USER:PASSWORD@HOST:PORT", True),
        (Answer(403, b"<html>Blocked</html>", {"content-type": "text/html"}), ": 403 Reason", True),
        (answer(status=502), ": 502 Reason", False),
        (answer("<html>Please log in</html>"), "svc.example through the proxy 127.0.0.1:", False),
        (sends(b"SSH-2.0-x\r\n\r\n"), "does not answer in HTTP: check the address", False),
        (sends(b"HTTP/1.1 200 OK\r\n\r\n"), ": it closed the connection", False),
        (reset, " broke: ", False),
    ],
)
async def test_error_behind_a_proxy_names_the_proxy(
    response: Step, problem: str, final: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Server(response) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{proxy.port}")
        async with RemoteClient(Endpoint.parse("https://svc.example"), timeout=5) as remote:
            with pytest.raises(ServiceError) as caught:
                await remote.request("GET", "/", retry=ONCE)
    message = caught.value.message
    assert f"svc.example through the proxy 127.0.0.1:{proxy.port}" in message
    assert problem in message
    assert caught.value.final is final
    assert "hunter2" not in message


async def test_unreachable_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Server() as proxy:
        pass
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{proxy.port}")
    async with RemoteClient(Endpoint.parse("https://svc.example")) as remote:
        with pytest.raises(ServiceError, match=f"the proxy 127.0.0.1:{proxy.port}: ") as caught:
            await remote.request("GET", "/", retry=ONCE)
    assert caught.value.kind is ErrorKind.UNREACHABLE


async def test_invalid_no_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "[::1]")
    async with RemoteClient(Endpoint.parse("https://svc.example")) as remote:
        with pytest.raises(ServiceError, match="NO_PROXY"):
            await remote.request("GET", "/", retry=ONCE)


async def test_requests_to_this_machine_bypass_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Server(OK) as proxy, Server(OK) as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with RemoteClient(Endpoint.parse(server.url)) as remote:
            await remote.request("GET", "/")
        assert len(server.received) == 1
        assert proxy.connections == 0


async def test_proxy_sees_only_the_host_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Server(answer(status=502)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("https_proxy", proxy.url)
        endpoint = Endpoint.parse("https://service.example/v1")
        async with RemoteClient(
            endpoint, credential=bearer(Secret(KEY)), clock=JumpClock()
        ) as remote:
            with pytest.raises(ServiceError, match=r"cannot connect to service\.example") as caught:
                await remote.request("POST", "/", json={"prompt": "secret prompt"}, retry=ONCE)
        assert caught.value.kind is ErrorKind.UNREACHABLE
        (request,) = proxy.received
        assert (request.method, request.target) == ("CONNECT", "service.example:443")
        assert KEY.encode() not in request.raw
        assert b"prompt" not in request.raw


@pytest.mark.parametrize(
    ("variable", "text", "remedy"),
    [
        ("SSL_CERT_FILE", "/nowhere/hunter2.pem", "SSL_CERT_FILE"),
        ("HTTPS_PROXY", "ftp://me:hunter2@proxy.example", "HTTPS_PROXY"),
        ("HTTPS_PROXY", "http://hunter2.example:port", "HTTPS_PROXY"),
        ("ALL_PROXY", "socks5://me:hunter2@proxy.example", "ALL_PROXY"),
    ],
)
async def test_unusable_proxy_error_names_the_variables(
    variable: str, text: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, text)
    async with RemoteClient(Endpoint.parse("https://service.example")) as remote:
        for _ in range(2):
            with pytest.raises(ServiceError, match=remedy) as caught:
                await remote.request("GET", "/")
            assert "hunter2" not in "".join(traceback.format_exception(caught.value))
            assert caught.value.__context__ is None
            assert (caught.value.final, caught.value.attempts) == (True, 0)
