"""Keys never show themselves; addresses lead nowhere but where they seem to."""

from __future__ import annotations

import copy
import pickle
import traceback

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guardtui.http.address import AddressError, Endpoint
from guardtui.http.secret import Secret, basic, bearer, redacted

KEY = "sk-very/secret+key="


@pytest.mark.parametrize(
    "shown",
    [
        repr,
        str,
        lambda s: f"{s}",
        lambda s: f"{s!r:>30}",
        lambda s: f"{[s]} {s:>20}",
        lambda s: f"{s} {s!r}",
        lambda s: repr(bearer(s)),
        lambda s: repr(basic("me", s)),
    ],
)
def test_secret_is_hidden_in_every_representation(shown: object) -> None:
    assert callable(shown)
    text = shown(Secret(KEY))
    assert "very" not in text
    assert "•••" in text


def test_secret_cannot_be_pickled() -> None:
    for write in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            write(Secret(KEY))


def test_secrets_compare_and_reveal() -> None:
    assert Secret(f" {KEY}\n") == Secret(KEY)
    assert Secret(KEY) != Secret(KEY + "x")
    assert Secret(KEY) != KEY
    assert len({Secret(KEY), Secret(KEY)}) == 1
    assert Secret(KEY).reveal() == KEY
    assert bearer(Secret(KEY)).reveal() == ("Authorization", f"Bearer {KEY}")
    assert (
        basic("Aladdin", Secret("open-sesame")).reveal()[1] == "Basic QWxhZGRpbjpvcGVuLXNlc2FtZQ=="
    )


@pytest.mark.parametrize(
    "text", ["", " \n", "two words", "line\nend", "nul\0", "schlüssel", "k" * 20_000]
)
def test_text_invalid_in_a_header_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="MY_KEY") as caught:
        Secret(text, "MY_KEY")
    shown = "".join(traceback.format_exception(caught.value))
    assert not text.strip() or text not in shown


@given(st.text(), st.text())
def test_secret_is_redacted_anywhere_in_a_text(before: str, after: str) -> None:
    text = f"{before}{KEY}{after} sk-very%2Fsecret%2Bkey%3D"
    assert "sk-very" not in redacted(text, [Secret(KEY)]).replace(before, "").replace(after, "")


@pytest.mark.parametrize(
    ("text", "url", "loopback"),
    [
        ("https://host.example/v1/", "https://host.example/v1", False),
        ("host.example/v1", "https://host.example/v1", False),
        ("  HTTPS://Host.Example:8443  ", "https://host.example:8443", False),
        ("http://localhost:11434/v1", "http://localhost:11434/v1", True),
        ("http://127.0.0.1", "http://127.0.0.1", True),
        ("http://127.9.9.9:1/", "http://127.9.9.9:1", True),
        ("http://[::1]:80/a", "http://[::1]:80/a", True),
        ("https://10.0.0.1", "https://10.0.0.1", False),
    ],
)
def test_endpoint_is_parsed_and_normalised(text: str, url: str, loopback: bool) -> None:
    endpoint = Endpoint.parse(text)
    assert (endpoint.url, str(endpoint), endpoint.loopback) == (url, url, loopback)


@pytest.mark.parametrize(
    "text",
    [
        "http://host.example",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "http://0.0.0.0",
        "http://127.1",
        "http://2130706433",
        "http://[::ffff:10.0.0.1]",
        "http://10.0.0.1",
    ],
)
def test_plain_http_is_allowed_for_this_machine_or_on_request(text: str) -> None:
    with pytest.raises(AddressError):
        Endpoint.parse(text)
    assert not Endpoint.parse(text, allow_http=True).loopback


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "ftp://host",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "https://ho st/",
        "https://host:99999",
        "https://host:port",
        "https://host\\@evil.example",
        "https://host/\x00",
        "https://hos\tt",
        "https://hôte.example",
        "https://[::1",
        "https://[::zz]",
        "https://[v1.a:b]",
        "https://host/../up",
        "https://host/%2e%2E/up",
        "https://host/#name",
        "https://host#",
        "javascript:alert(1)",
        "https://-host",
        "https://a..b",
        "https://" + "a" * 3000,
    ],
)
def test_invalid_endpoint_error_is_one_inert_line(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        Endpoint.parse(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "text", ["https://me:hunter2@host", "https://hunter2@host/v1", "me:hunter2@host"]
)
def test_password_in_a_url_is_rejected_and_not_shown(text: str) -> None:
    with pytest.raises(AddressError, match="user or password") as caught:
        Endpoint.parse(text)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "text", ["ftp://host/v1?key=hunter2", "https://?key=hunter2", "https://host/?key=hunter2 x"]
)
def test_the_query_of_a_rejected_url_is_not_shown(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        Endpoint.parse(text)
    assert "?…" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example/\\",
        "/../up",
        "a/./b",
        "/a?b=c",
        "/a#b",
        "/a b",
        "/\r\nHost: x",
        "\\evil",
    ],
)
def test_path_stays_below_the_base_url(path: str) -> None:
    with pytest.raises(AddressError):
        Endpoint.parse("https://host/base").join(path)


@example("?0", "")
@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_changes_the_host_of_a_url(base: str, path: str) -> None:
    try:
        endpoint = Endpoint.parse(f"https://host.example/{base}")
        url = endpoint.join(path)
    except AddressError:
        return
    assert f"{url}/".startswith(("https://host.example/", "https://host.example?"))
    assert httpx.URL(url).host == "host.example"


@given(st.text(alphabet="ab.-_:/\\@#?%[]10 \t", max_size=30))
def test_parsed_host_is_the_called_host(text: str) -> None:
    try:
        endpoint = Endpoint.parse(f"https://{text}")
        url = httpx.URL(endpoint.join("v1"))
    except (AddressError, httpx.InvalidURL):
        return
    assert url.host == endpoint.host
    assert not url.userinfo


def test_query_is_sent_and_not_shown() -> None:
    endpoint = Endpoint.parse("https://host/base?api-version=1")
    assert endpoint.join("/chat") == "https://host/base/chat?api-version=1"
    assert endpoint.url == str(endpoint) == "https://host/base"
