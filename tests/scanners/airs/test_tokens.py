"""Tokens: one refresh for all, in time, and what a refusal says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.secret import Secret
from guardtui.scanners.airs.credentials import ManagementAccess
from guardtui.scanners.airs.tokens import AccessTokens
from tests.http.server import Answer, Received, Server, Step, answer
from tests.http.times import JumpClock


def account(url: str, secret: str = "the-secret") -> ManagementAccess:
    endpoint = Endpoint.parse(url)
    return ManagementAccess(
        endpoint, Endpoint.parse(f"{url}/oauth2/access_token"), "me", Secret(secret), "1"
    )


def numbered(expires: Any = 899) -> Any:
    count = 0

    def step(request: Received) -> Step:
        nonlocal count
        count += 1
        return answer({"access_token": f"token-{count}", "expires_in": expires})

    return step


async def test_concurrent_callers_share_one_refresh() -> None:
    async with Server(numbered()) as server:
        tokens = AccessTokens(account(server.url), clock=JumpClock())
        got = await asyncio.gather(*(tokens.get() for _ in range(20)))
        assert {one.reveal() for one in got} == {"token-1"}
        assert len(server.received) == 1
        (request,) = server.received
        assert request.target == "/oauth2/access_token"
        assert request.headers["authorization"] == "Basic bWU6dGhlLXNlY3JldA=="
        assert request.headers["content-type"] == "application/x-www-form-urlencoded"
        assert request.body == b"grant_type=client_credentials&scope=tsg_id%3A1"
        await tokens.aclose()


async def test_token_is_refreshed_before_it_expires() -> None:
    clock = JumpClock()
    async with Server(numbered()) as server:
        tokens = AccessTokens(account(server.url), clock=clock)
        assert (await tokens.get()).reveal() == "token-1"
        clock.advance(838)
        assert (await tokens.get()).reveal() == "token-1"
        clock.advance(2)
        assert (await tokens.get()).reveal() == "token-2"
        await tokens.aclose()


@pytest.mark.parametrize(
    ("expires", "still", "over"),
    [
        ("899", 800, 840),
        (10, 4, 6),
        (None, 800, 841),
        ("soon", 800, 841),
        (-5, 800, 841),
        (0, 800, 841),
        (float("nan"), 800, 841),
        (1e300, 86_000, 86_400),
        (True, 800, 841),
        ([1], 800, 841),
    ],
)
async def test_lifetime_is_read_from_numbers_and_texts(
    expires: Any, still: float, over: float
) -> None:
    clock = JumpClock()
    async with Server(numbered(expires)) as server:
        tokens = AccessTokens(account(server.url), clock=clock)
        await tokens.get()
        clock.advance(still)
        assert (await tokens.get()).reveal() == "token-1"
        clock.advance(over - still)
        assert (await tokens.get()).reveal() == "token-2"
        await tokens.aclose()


async def test_dropped_token_is_replaced_once() -> None:
    async with Server(numbered()) as server:
        tokens = AccessTokens(account(server.url), clock=JumpClock())
        first = await tokens.get()
        tokens.drop(first)
        second = await tokens.get()
        tokens.drop(first)  # by another call that had it too
        assert await tokens.get() == second
        assert len(server.received) == 2
        await tokens.aclose()


async def test_failure_is_shared_and_not_cached() -> None:
    refusal = answer({"error": "invalid_client", "error_description": "no"}, 401)
    async with Server([refusal, numbered()(None)]) as server:
        tokens = AccessTokens(account(server.url), clock=JumpClock())
        got = await asyncio.gather(*(tokens.get() for _ in range(5)), return_exceptions=True)
        assert all(isinstance(one, ServiceError) for one in got)
        assert len(server.received) == 1
        assert (await tokens.get()).reveal() == "token-1"
        await tokens.aclose()


async def test_cancelled_caller_does_not_cancel_the_refresh() -> None:
    async with Server(numbered()) as server:
        tokens = AccessTokens(account(server.url), clock=JumpClock())
        first = asyncio.create_task(tokens.get())
        second = asyncio.create_task(tokens.get())
        while not server.received:
            await asyncio.sleep(0)
        first.cancel()
        assert (await second).reveal() == "token-1"
        assert len(server.received) == 1
        with pytest.raises(asyncio.CancelledError):
            await first
        await tokens.aclose()


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_wrong_secret_is_reported(status: int) -> None:
    body = {"error": "invalid_client", "error_description": "the-secret is wrong"}
    async with Server(answer(body, status)) as server:
        tokens = AccessTokens(account(server.url), clock=JumpClock())
        with pytest.raises(ServiceError) as caught:
            await tokens.get()
        text = str(caught.value)
        assert "check client id, client secret, and that the account belongs to the TSG 1" in text
        assert "the-secret" not in text
        assert len(server.received) == 1
        await tokens.aclose()


@pytest.mark.parametrize(
    "data", [{}, [], {"access_token": 7}, {"access_token": ""}, {"access_token": "a\nb"}]
)
async def test_response_without_a_token_is_an_error(data: Any) -> None:
    async with Server(answer(data)) as server:
        tokens = AccessTokens(account(server.url), clock=JumpClock())
        with pytest.raises(ServiceError, match="sent no valid token") as caught:
            await tokens.get()
        assert caught.value.kind is ErrorKind.CONTENT
        await tokens.aclose()


async def test_web_page_instead_of_a_token_is_an_error() -> None:
    async with Server(Answer(200, b"<html>sign in</html>")) as server:
        tokens = AccessTokens(account(server.url), clock=JumpClock())
        with pytest.raises(ServiceError, match=r"no access token: .*web page"):
            await tokens.get()
        await tokens.aclose()


async def test_closing_cancels_the_refresh() -> None:
    async with Server(Answer(delay=1000)) as server:
        tokens = AccessTokens(account(server.url), clock=JumpClock())
        waiting = asyncio.create_task(tokens.get())
        while not server.received:
            await asyncio.sleep(0)
        await tokens.aclose()
        with pytest.raises(asyncio.CancelledError):
            await waiting
