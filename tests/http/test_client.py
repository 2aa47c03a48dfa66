"""One client against servers that behave, refuse, break and lie; over sockets."""

from __future__ import annotations

import asyncio
import gc
import gzip
import logging
import ssl
import traceback
import tracemalloc
import zlib
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit
from guardtui.http.retries import ONCE, UNSENT, Retries
from guardtui.http.secret import Credential, Secret, basic, bearer
from tests.http.server import (
    Answer,
    Received,
    Script,
    Server,
    answer,
    repeats,
    reset,
    sends,
    silence,
)
from tests.http.times import JumpClock

KEY = "sk-test-0123456789/+abcdef"
OK = answer({"ok": True})
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def client(server: Server, clock: JumpClock | None = None, **options: Any) -> RemoteClient:
    options.setdefault("credential", Credential("x-pan-token", Secret(KEY)))
    options.setdefault("timeout", 120.0)
    clock = clock or JumpClock()
    return RemoteClient(Endpoint.parse(server.url), clock=clock, draw=lambda: 0.5, **options)


async def failure(script: Script, **options: Any) -> tuple[ServiceError, Server]:
    """The error of one call to a server, and the server; no key is in either."""
    request = options.pop("request", {})
    async with Server(script) as server, client(server, **options) as remote:
        with pytest.raises(ServiceError) as caught:
            await remote.request("POST", "/v1/scan", json={"prompt": "x"}, **request)
        error = caught.value
        assert remote.limit.in_flight == 0
    shown = "".join(traceback.format_exception(error)) + repr(error)
    assert KEY not in shown
    assert error.__cause__ is error.__context__ is None
    assert error.message.isprintable()
    assert len(error.message) <= 300
    return error, server


async def test_json_is_sent_and_received() -> None:
    def script(request: Received) -> Answer:
        assert request.method == "POST"
        assert request.target == "/base/v1/scan?a=1%2C2"
        assert request.headers["x-pan-token"] == KEY
        assert request.headers["content-type"] == "application/json"
        assert request.headers["accept"] == "application/json"
        assert request.headers["user-agent"].startswith("guardtui/")
        assert request.headers["x-own"] == "1"
        return answer(request.json)

    async with Server(script) as server:
        endpoint = Endpoint.parse(f"{server.url}/base/")
        async with RemoteClient(
            endpoint, credential=Credential("x-pan-token", Secret(KEY))
        ) as remote:
            data = {"prompt": "süß \ud800 \x00 ⟪", "n": [1, None]}
            for path in ("/v1/scan", "v1/scan"):
                reply = await remote.request(
                    "POST", path, json=data, params={"a": "1,2"}, headers={"x-own": "1"}
                )
                assert (reply.data, reply.status, reply.attempts) == (data, 200, 1)
                assert reply.seconds > 0
            assert KEY not in repr(remote)


async def test_encoded_body_is_sent_unchanged() -> None:
    body = b'{ "signed" : [1,  2] }'
    async with Server(OK) as server, client(server) as remote:
        await remote.request("POST", "x", content=body)
        (request,) = server.received
    assert request.body == body
    assert request.headers["content-type"] == "application/json"


async def test_content_length_is_sent_only_with_a_body_or_if_usual() -> None:
    async with Server(OK) as server, client(server) as remote:
        await remote.request("POST", "/", json="x" * 1_000_000)
        await remote.request("POST", "/")
        await remote.request("GET", "/")
        large, empty, get = server.received
    assert len(large.body) == 1_000_002
    assert empty.headers["content-length"] == "0"
    assert "content-length" not in get.headers


async def test_form_and_credential_of_one_call_are_sent() -> None:
    async with Server([answer({"access_token": "t"}), OK]) as server, client(server) as remote:
        form: dict[str, str | Secret] = {
            "grant_type": "client_credentials",
            "client_secret": Secret("s/+e"),
        }
        await remote.request("POST", "/token", form=form, credential=basic("id", Secret("s")))
        await remote.request("GET", "/", credential=bearer(Secret("t")))
        token, get = server.received
        assert token.body == b"grant_type=client_credentials&client_secret=s%2F%2Be"
        assert token.headers["authorization"] == "Basic aWQ6cw=="
        assert get.headers["authorization"] == "Bearer t"
        assert KEY.encode() not in token.raw + get.raw
        assert get.body == b""
        assert "content-type" not in get.headers


@pytest.mark.parametrize(
    ("given", "data"),
    [
        (Answer(204, b""), None),
        (Answer(200, b""), None),
        (Answer(200, b'"deleted"', {"content-type": "text/plain"}), "deleted"),
        (Answer(201, b"\xef\xbb\xbf{}"), {}),
        (Answer(200, gzip.compress(b'{"a":1}'), {"content-encoding": "gzip"}), {"a": 1}),
        (Answer(200, zlib.compress(b'{"a":1}'), {"content-encoding": "deflate"}), {"a": 1}),
    ],
)
async def test_unusual_but_valid_responses_are_read(given: Answer, data: object) -> None:
    async with Server(given) as server, client(server) as remote:
        assert (await remote.request("GET", "/")).data == data
        assert (await remote.request("GET", "/")).data == data
        assert server.received[0].headers["accept-encoding"] == "identity"


WALL = JumpClock().wall()


@pytest.mark.parametrize(
    ("refusal", "wait"),
    [
        (answer(status=429, retry_after="7"), 7),
        (answer(status=429, retry_after=formatdate(WALL + 40, usegmt=True)), 40),
        (
            answer(
                {"error": {"message": "m", "retry_after": {"interval": 1, "unit": "minute"}}}, 429
            ),
            60,
        ),
        (answer({"error": {"message": "m", "retry_after": 9}}, 429), 9),
        (answer({"retry_after": 3}, 429), 3),
        (answer({"retry_after": {"interval": 1500, "unit": "ms"}}, 429), 1.5),
        (answer(status=503, retry_after="5"), 5),
        (answer(status=429), 0.5),
        (answer(status=500), 0.5),
        (answer(status=529), 0.5),
        (Answer(502, b"<html>bad gateway</html>"), 0.5),
        (reset, 0.5),
        (sends(b""), 0.5),
        (sends(HEAD + b"content-length: 50\r\n\r\n{"), 0.5),
        (answer(status=408), 0.5),
    ],
)
async def test_transient_failure_is_retried_after_the_requested_wait(
    refusal: Any, wait: float
) -> None:
    clock = JumpClock()
    async with Server([refusal, OK]) as server, client(server, clock) as remote:
        before = clock.now()
        reply = await remote.request("POST", "/", json={})
        assert reply.data == {"ok": True}
        assert reply.attempts == len(server.received) == 2
        assert clock.now() - before == pytest.approx(wait)
        assert remote.limit.totals.retried == 1
        assert remote.limit.totals.refused == (getattr(refusal, "status", 0) == 429)


async def test_waits_increase_and_attempts_are_limited() -> None:
    clock = JumpClock()
    error, server = await failure(
        answer({"message": "no"}, 500), clock=clock, retries=Retries(attempts=5)
    )
    assert clock.waits == [0.5, 1, 2, 4]
    assert len(server.received) == error.attempts == 5
    assert (error.kind, error.status, error.final, error.message) == (
        ErrorKind.SERVER,
        500,
        False,
        "HTTP 500: no",
    )


async def test_total_time_limits_retries() -> None:
    clock = JumpClock()
    error, server = await failure(
        answer(status=429, retry_after="40"), clock=clock, retries=Retries(attempts=99, total=100)
    )
    assert len(server.received) == error.attempts == 3
    assert (error.kind, error.status, error.retry_after) == (ErrorKind.LIMITED, 429, 40.0)


async def test_long_pause_fails_all_calls_without_waiting() -> None:
    clock = JumpClock()
    async with (
        Server(answer(status=429, retry_after="3600")) as server,
        client(server, clock) as remote,
    ):
        for attempts in (1, 0, 0):
            with pytest.raises(ServiceError) as caught:
                await remote.request("GET", "/")
            error = caught.value
            assert (error.kind, error.retry_after, error.final) == (ErrorKind.LIMITED, 3600, False)
            assert error.attempts == attempts
        assert "3600 s" in error.message
        assert len(server.received) == 1
        assert clock.waits == []


async def test_one_refusal_pauses_everyone_and_lowers_the_limit() -> None:
    clock = JumpClock()
    limit = AdaptiveLimit(4, clock=clock)
    async with (
        Server([answer(status=429, retry_after="30"), OK]) as server,
        client(server, clock, limit=limit) as remote,
        client(server, clock, limit=limit) as other,
    ):
        await remote.request("GET", "/", retry=Retries(attempts=2))
        assert limit.current == 3
        before = clock.now()
        limit.pause(20)
        await other.request("GET", "/")
        assert clock.now() - before == pytest.approx(20)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ErrorKind.REQUEST),
        (401, ErrorKind.CREDENTIALS),
        (403, ErrorKind.CREDENTIALS),
        (404, ErrorKind.REQUEST),
        (405, ErrorKind.REQUEST),
        (409, ErrorKind.REQUEST),
        (413, ErrorKind.REQUEST),
        (415, ErrorKind.REQUEST),
        (422, ErrorKind.REQUEST),
        (501, ErrorKind.SERVER),
        (505, ErrorKind.SERVER),
    ],
)
async def test_permanent_failure_is_not_retried(status: int, kind: ErrorKind) -> None:
    error, server = await failure(answer({"error": {"message": "because"}}, status))
    assert (error.kind, error.status, error.final, error.attempts) == (kind, status, True, 1)
    assert error.message == f"HTTP {status}: because"
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error_message": "a", "message": "b"}, "a"),
        ({"status_code": 400, "message": "b", "error": "c"}, "b"),
        ({"error": {"message": "c", "type": "t"}}, "c"),
        ({"error": "d"}, "d"),
        ({"Error": "e"}, "e"),
        ({"error": "invalid_client", "error_description": "f"}, "invalid_client"),
        ({"detail": [{"msg": "g", "loc": []}, {"msg": "h"}]}, "g; h"),
        ("gone", "gone"),
        ({"message": "two\nlines\x1b[2J\u202e"}, "two lines␛[2J⟪RLO⟫"),
        ({"unknown": 1}, '{"unknown": 1}'),
        ({"message": "x" * 5000}, "x" * 289 + "…"),
    ],
)
async def test_error_message_is_read_from_every_known_field(body: object, message: str) -> None:
    error, _ = await failure(answer(body, 400))
    assert error.message == f"HTTP 400: {message}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Answer(401, b""), "HTTP 401: the key is not accepted"),
        (Answer(403, b"<html>login"), "HTTP 403: the key lacks the permission"),
        (Answer(418, b"<!DOCTYPE html><p>"), "HTTP 418: a web page"),
        (Answer(418, b"\xff\x00short and stout"), "HTTP 418: �␀short and stout"),
        (Answer(418, b"[" * 100_000), "HTTP 418: " + "[" * 120),
    ],
)
async def test_error_message_without_json_is_used(given: Answer, message: str) -> None:
    error, _ = await failure(given)
    assert error.message == message


async def test_exhausted_quota_is_not_retried() -> None:
    refusal = answer(
        {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}, 429
    )
    error, server = await failure(refusal)
    assert (error.kind, error.final, len(server.received)) == (ErrorKind.LIMITED, True, 1)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (Answer(200, b"{"), "truncated"),
        (Answer(200, b'{"a": "b'), "truncated"),
        (Answer(200, b'{"a": 1} trailing'), "not valid JSON from character 9"),
        (Answer(200, b"OK"), "not valid JSON"),
        (Answer(200, b"\xff\xfe\x00\xd8garbage"), "not valid JSON"),
        (Answer(200, b"9" * 5000), "not valid JSON"),
        (Answer(200, b"[" * 200_000), "nested too deeply"),
        (Answer(200, b"<!DOCTYPE html><title>Sign in</title>"), "web page"),
        (Answer(200, b"{}", {"content-type": "text/html; charset=utf-8"}), "web page"),
        (Answer(200, b"{}", {"content-encoding": "gzip"}), "marked as compressed"),
        (Answer(200, gzip.compress(b"{}" * 99)[:-9], {"content-encoding": "gzip"}), "truncated"),
        (Answer(200, b"{}", {"content-encoding": "br"}), "not requested"),
    ],
)
async def test_malformed_response_is_an_error(given: Answer, problem: str) -> None:
    error, server = await failure(given)
    assert (error.kind, error.final) == (ErrorKind.CONTENT, True)
    assert problem in error.message
    assert len(server.received) == 1


@pytest.mark.parametrize("retry", [ONCE, UNSENT])
async def test_possibly_processed_unsafe_call_is_not_retried(retry: Any) -> None:
    for broken in (reset, answer(status=500), sends(b"")):
        error, server = await failure(broken, request={"retry": retry})
        assert error.kind in (ErrorKind.BROKEN, ErrorKind.SERVER)
        assert len(server.received) == error.attempts == 1


async def test_certainly_unprocessed_call_is_retried() -> None:
    async with Server([answer(status=429), OK]) as server, client(server) as remote:
        assert (await remote.request("POST", "/", retry=UNSENT)).attempts == 2
    with pytest.raises(ServiceError, match="cannot connect") as caught:
        await remote_to_nowhere(server.port, retry=UNSENT)
    assert (caught.value.kind, caught.value.attempts) == (ErrorKind.UNREACHABLE, 3)
    with pytest.raises(ServiceError) as caught:
        await remote_to_nowhere(server.port, retry=ONCE)
    assert caught.value.attempts == 1


async def test_service_reached_before_is_retried_longer() -> None:
    async with Server(OK) as server:
        remote = client(server)
        await remote.request("GET", "/")
    with pytest.raises(ServiceError, match="cannot connect") as caught:
        await remote.request("GET", "/")
    assert (caught.value.kind, caught.value.attempts) == (ErrorKind.UNREACHABLE, 6)
    await remote.aclose()


async def remote_to_nowhere(port: int, **options: Any) -> None:
    endpoint = Endpoint.parse(f"http://127.0.0.1:{port}")
    async with RemoteClient(endpoint, clock=JumpClock()) as remote:
        await remote.request("GET", "/", **options)


DRIP = repeats(b"a", HEAD + b"content-length: 1000000\r\n\r\n", gap=0.01)


@pytest.mark.parametrize(
    "script",
    [
        silence,
        sends(HEAD, then_wait=True),
        sends(HEAD + b"content-length: 50\r\n\r\n{", then_wait=True),
        DRIP,
        repeats(b"HTTP/1.1 100 Continue\r\n\r\n", gap=0.01),
        repeats(b"x: y\r\n", HEAD, gap=0.01),
        repeats(b"1\r\na\r\n", HEAD + b"transfer-encoding: chunked\r\n\r\n", gap=0.01),
    ],
    ids=["silence", "headers", "body", "drip", "continue", "header-drip", "chunk-drip"],
)
async def test_slow_response_ends_at_the_deadline(script: Any) -> None:
    clock = JumpClock()
    error, _ = await failure(script, timeout=0.2, retries=Retries(attempts=2), clock=clock)
    assert error.kind is ErrorKind.TIMEOUT
    assert "within 0.2 s" in error.message
    assert len(clock.waits) == 1  # before the second attempt


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (sends(b"\x00\xff garbage \x1b[2J\r\n\r\n"), ErrorKind.BROKEN),
        (sends(b"SSH-2.0-OpenSSH_9.6\r\n"), ErrorKind.BROKEN),
        (sends(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), ErrorKind.BROKEN),
        (sends(HEAD + b"content-length: minus\r\n\r\n{}"), ErrorKind.BROKEN),
        (sends(HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}"), ErrorKind.BROKEN),
        (sends(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}"), ErrorKind.BROKEN),
        (sends(b"HTTP/1.1 999999 What\r\n\r\n"), ErrorKind.BROKEN),
        (repeats(b"x-header: " + b"y" * 1000 + b"\r\n", HEAD), ErrorKind.BROKEN),
        (repeats(b"z" * 65536, HEAD + b"x: "), ErrorKind.BROKEN),
        (sends(HEAD + b"content-length: 9\r\n\r\n{}"), ErrorKind.BROKEN),
        (
            sends(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
            ErrorKind.BROKEN,
        ),
    ],
    ids=[
        "garbage",
        "ssh",
        "no-colon",
        "bad-length",
        "two-lengths",
        "bad-chunk",
        "status",
        "endless-headers",
        "endless-header",
        "short-body",
        "upgrade",
    ],
)
async def test_non_http_response_is_a_broken_connection(script: Any, kind: ErrorKind) -> None:
    error, server = await failure(script, retries=Retries(attempts=2))
    assert error.kind is kind
    assert len(server.received) == 2


BIG = 200 * 1024**2


@pytest.mark.parametrize(
    "script",
    [
        repeats(b" " * 65536, HEAD + f"content-length: {BIG}\r\n\r\n".encode(), BIG // 65536),
        repeats(b" " * 65536, HEAD + b"\r\n", BIG // 65536),
        repeats(
            b"10000\r\n" + b" " * 65536 + b"\r\n", HEAD + b"transfer-encoding: chunked\r\n\r\n"
        ),
        Answer(200, gzip.compress(b" " * BIG, 1), {"content-encoding": "gzip"}),
        Answer(500, b"", {"content-length": "9" * 15}),
    ],
    ids=["announced", "until-the-end", "chunked", "bomb", "absurd"],
)
async def test_large_body_is_rejected_early(script: Any) -> None:
    gc.collect()
    tracemalloc.start()
    try:
        error, _ = await failure(script, largest=1024**2)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (error.kind, error.final) == (ErrorKind.SIZE, True)
    assert "1 MiB" in error.message
    assert most < 12 * 1024**2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_is_reported_and_not_followed(status: int) -> None:
    async with Server(OK) as elsewhere:
        error, server = await failure(
            answer(status=status, location=f"{elsewhere.url}/x?token={KEY}")
        )
        assert (error.kind, error.status, error.final) == (ErrorKind.REDIRECT, status, True)
        assert f"{elsewhere.url}/x," in error.message
        assert len(server.received) == 1
        assert elsewhere.connections == 0


async def test_redirect_to_an_invalid_url_is_final() -> None:
    error, server = await failure(answer(status=302, location=f"http://host:port/{KEY}"))
    assert (error.kind, error.final, len(server.received)) == (ErrorKind.REDIRECT, True, 1)
    assert "redirects to an address that is not a URL" in error.message


async def test_response_before_the_request_was_read_is_received() -> None:
    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(refuses, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with RemoteClient(Endpoint.parse(f"http://127.0.0.1:{port}")) as remote:
            with pytest.raises(ServiceError, match="HTTP 413") as caught:
                await remote.request("POST", "/", json="x" * 1_000_000)
    assert (caught.value.status, caught.value.kind) == (413, ErrorKind.REQUEST)


async def test_repeated_headers_are_joined_and_any_bytes_are_read() -> None:
    head = "HTTP/1.1 429 x\r\nretry-after: 3\r\nx: a\r\nX: \xe9\r\ncontent-length: 0\r\n\r\n"
    error, _ = await failure(sends(head.encode("latin-1")), retries=Retries(attempts=1))
    assert (error.status, error.retry_after) == (429, 3.0)


@pytest.mark.parametrize(
    "given",
    [
        answer({"error": {"message": f"Incorrect API key provided: {KEY}."}}, 401),
        answer({"message": f"{'x' * 280}{KEY}"}, 400),
        answer({"message": f"{' ' * 1190}{KEY}"}, 400),
        Answer(400, f"{'x' * 110}{KEY}".encode()),
        answer({"message": "token=sk-test-0123456789%2F%2Babcdef"}, 500),
        sends(f"HTTP/1.1 {KEY} x\r\n\r\n".encode()),
        sends(HEAD + f"{KEY}\r\n\r\n".encode()),
    ],
)
async def test_echoed_key_is_not_shown_even_partially(given: Any) -> None:
    error, _ = await failure(given, retries=Retries(attempts=1))
    assert "sk-t" not in error.message
    assert "sk-t" not in "".join(traceback.format_exception(error))
    assert error.data is None or "sk-t" not in repr(error.data)


@pytest.mark.parametrize(
    ("given", "data"),
    [
        (answer({"payload": [{"name": "a"}]}, 409), {"payload": [{"name": "a"}]}),
        (answer({"payload": ["x" * 70_000]}, 409), None),
        (answer({"payload": [{"seen": f"Bearer {KEY}"}]}, 409), None),
        (answer({"payload": {f"{KEY}": 1}}, 409), None),
        (Answer(409, b'{"payload": ["' + KEY.replace("s", "\\u0073").encode() + b'"]}'), None),
        (Answer(409, b"no \\JSON"), None),
        (Answer(409, b""), None),
        (Answer(409, b"<html>", {"content-type": "text/html"}), None),
    ],
)
async def test_error_keeps_its_json(given: Any, data: object) -> None:
    error, _ = await failure(given, retries=Retries(attempts=1))
    assert (error.status, error.data) == (409, data)


async def test_no_key_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with Server([answer(status=500), reset, OK]) as server, client(server) as remote:
            await remote.request("POST", "/", json={})
        assert len(server.received) == 3
    assert caplog.records
    assert "sk-t" not in caplog.text
    assert not [record for record in caplog.records if "sk-t" in repr(vars(record))]


async def test_netrc_passwords_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password hunter2\n", "utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))
    async with Server(OK) as server, client(server) as remote:
        await remote.request("GET", "/")
        assert "authorization" not in server.received[0].headers


async def test_cookies_are_not_stored() -> None:
    async with Server(answer(set_cookie="session=1; Path=/")) as server, client(server) as remote:
        await remote.request("GET", "/")
        await remote.request("GET", "/")
        assert not [one for one in server.received if "cookie" in one.headers]


async def test_untrusted_certificate_is_rejected() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(Path(__file__).parent / "refused.pem")
    async with Server(OK, tls) as server, client(server) as remote:
        with pytest.raises(ServiceError, match="no valid certificate") as caught:
            await remote.request("GET", "/")
        assert (caught.value.kind, caught.value.final) == (ErrorKind.UNREACHABLE, True)
        assert "self-signed" in caught.value.message
        assert server.received == []


async def test_own_authority_is_trusted_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = Path(__file__).parent / "refused.pem"
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with Server(OK, tls) as server, client(server) as remote:
        assert (await remote.request("GET", "/")).data == {"ok": True}


async def test_cancelled_call_returns_its_permit() -> None:
    async with (
        Server([silence, silence, OK]) as server,
        client(server, limit=AdaptiveLimit(1)) as remote,
    ):
        for sent in (1, 2):
            task = asyncio.ensure_future(remote.request("GET", "/"))
            while len(server.received) < sent:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert remote.limit.in_flight == 0
        assert (await remote.request("GET", "/")).data == {"ok": True}


async def test_requests_in_flight_respect_the_limit() -> None:
    async with Server(answer(delay=0.01)) as server:
        async with client(server, limit=AdaptiveLimit(3)) as remote:
            await asyncio.gather(*(remote.request("GET", "/") for _ in range(20)))
        assert server.most == 3


async def test_connection_that_the_server_closed_meanwhile_is_replaced() -> None:
    closing = Answer(200, b"{}", {"connection": "close"})
    async with Server(closing) as server, client(server) as remote:
        for _ in range(3):
            await remote.request("GET", "/", retry=ONCE)


async def test_unsendable_content_is_rejected_before_sending() -> None:
    async with Server(OK) as server, client(server) as remote:
        with pytest.raises(ValueError, match="float"):
            await remote.request("POST", "/", json=float("nan"))
        with pytest.raises(ValueError, match="not a URL path"):
            await remote.request("POST", "//evil.example/")
        with pytest.raises(ServiceError, match="cannot be sent") as caught:
            await remote.request("POST", "/", headers={"x": "line\r\nend"})
        assert caught.value.final
        assert server.received == []
    with pytest.raises(RuntimeError, match="closed"):
        await remote.request("GET", "/")


async def test_service_without_tls_is_reported() -> None:
    heard = bytearray()

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend(await reader.read(65536))
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        endpoint = Endpoint.parse(f"https://127.0.0.1:{port}")
        async with RemoteClient(endpoint, credential=bearer(Secret(KEY))) as remote:
            with pytest.raises(ServiceError, match="does not speak https") as caught:
                await remote.request("GET", "/")
    assert caught.value.final
    assert heard
    assert b"sk-t" not in heard
