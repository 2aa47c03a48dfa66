"""The store: every listener sees every state in order, on the event loop's thread only."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from guardtui.app.state import AppState, ScanStatus, Store
from guardtui.domain.prompts import build_prompt_set
from guardtui.domain.topic import Intent, Topic


@pytest.fixture
def store() -> Store:
    topic = Topic(name="Cats", description="cats", examples=("a cat",), intent=Intent.BLOCK)
    raw = pl.DataFrame({"prompt": ["a cat", "a dog"], "expected": ["true", "false"]})
    prompts = build_prompt_set(raw, np.array([2, 3], np.uint32), "cats.csv", Intent.BLOCK)
    return Store(AppState(topic, prompts))


def test_publishing_shows_a_listener_the_old_and_the_new_state(store: Store) -> None:
    seen: list[tuple[AppState, AppState]] = []
    before = store.state
    store.subscribe(lambda old, new: seen.append((old, new)))
    after = replace(before, pinned=3)
    store.publish(after)
    assert seen == [(before, after)]
    assert store.state is after


def test_a_listener_that_publishes_again_keeps_the_order_for_all(store: Store) -> None:
    seen: list[tuple[str, int | None]] = []

    def first(old: AppState, new: AppState) -> None:
        seen.append(("first", new.pinned))
        if new.pinned == 1:
            store.publish(replace(new, pinned=2))

    store.subscribe(first)
    store.subscribe(lambda old, new: seen.append(("second", new.pinned)))
    store.publish(replace(store.state, pinned=1))
    assert seen == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


def test_publishing_from_another_thread_is_refused(store: Store) -> None:
    errors: list[RuntimeError] = []

    def publish() -> None:
        try:
            store.publish(replace(store.state, pinned=1))
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=publish)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert store.state.pinned is None


def test_a_listener_that_fails_does_not_block_later_states(store: Store) -> None:
    seen: list[int | None] = []

    def listener(old: AppState, new: AppState) -> None:
        if new.pinned == 1:
            raise ValueError("a broken listener")
        seen.append(new.pinned)

    store.subscribe(listener)
    with pytest.raises(ValueError, match="broken"):
        store.publish(replace(store.state, pinned=1))
    store.publish(replace(store.state, pinned=2))
    assert seen == [2]


def test_an_equal_scan_status_is_not_published_again(store: Store) -> None:
    seen: list[ScanStatus | None] = []
    store.subscribe(lambda old, new: seen.append(new.scan))
    store.show_scan(ScanStatus("reading the profile"))
    store.show_scan(ScanStatus("reading the profile"))
    store.show_scan(None)
    assert seen == [ScanStatus("reading the profile"), None]


def test_a_listener_that_names_fields_is_called_at_their_changes_only(store: Store) -> None:
    seen: list[int | None] = []
    store.subscribe(lambda old, new: seen.append(new.pinned), "pinned", "iterations")
    store.publish(replace(store.state, files=1))
    store.publish(replace(store.state, pinned=3))
    assert seen == [3]
