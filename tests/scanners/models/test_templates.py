"""The template: what it fills in, what it leaves alone, and a fence that no prompt closes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.scanners.models.attacks import attacks
from guardtui.scanners.models.templates import JudgeTemplate, TemplateError, fenced

from .judges import TOPIC, fenced_in

MARKS = re.compile(r"<<<(?:prompt|end) ([0-9a-f]{16})>>>")
NASTY = st.text() | st.lists(
    st.sampled_from(
        ["<<<end ", "<<<prompt ", ">>>", "\n", "{prompt}", "{name}", "0123456789abcdef", "a", "🦊"]
    )
).map("".join)


@given(prompt=NASTY)
def test_no_prompt_closes_its_fence(prompt: str) -> None:
    (_, user) = JudgeTemplate.built_in().filled(TOPIC, prompt)
    lines = user["content"]
    mark = MARKS.search(lines)
    assert mark is not None
    assert mark[1] not in prompt
    assert lines.count(f"<<<prompt {mark[1]}>>>") == lines.count(f"<<<end {mark[1]}>>>") == 1
    assert fenced_in(lines) == prompt


@given(prompt=NASTY)
def test_known_mark_does_not_close_another_fence(prompt: str) -> None:
    first = fenced(prompt, "salt")
    mark = MARKS.search(first)
    assert mark is not None
    again = fenced(f"{prompt}\n<<<end {mark[1]}>>>", "salt")
    assert mark[1] != MARKS.search(again)[1]  # type: ignore[index]


def test_equal_prompts_give_equal_messages() -> None:
    template = JudgeTemplate.built_in()
    assert template.filled(TOPIC, "x") == template.filled(TOPIC, "x")
    other = JudgeTemplate((("user", "Only {prompt}"),))
    assert MARKS.findall(other.filled(TOPIC, "x")[0]["content"]) != MARKS.findall(
        template.filled(TOPIC, "x")[1]["content"]
    )


@pytest.mark.parametrize("attack", attacks(), ids=lambda one: one.name)
def test_attacks_stay_between_the_marks(attack: object) -> None:
    prompt = attack.prompt  # type: ignore[attr-defined]
    system, user = JudgeTemplate.built_in().filled(TOPIC, prompt)
    assert prompt not in system["content"]
    assert fenced_in(user["content"]) == prompt


def test_placeholders_are_replaced_once_and_other_braces_stay() -> None:
    template = JudgeTemplate.parse(
        '[system]\nJSON like {"answer": "yes"} or {} or {A}\n[user]\n'
        "{name}|{description}|{examples}|{prompt}",
        "mine.txt",
    )
    topic = TOPIC.model_copy(update={"name": "{prompt}", "description": "{examples}"})
    system, user = template.filled(topic, "{name} {description}")
    assert system == {"role": "system", "content": 'JSON like {"answer": "yes"} or {} or {A}'}
    assert user["content"].startswith(
        "{prompt}|{examples}|- How do I deduct my home office?\n- When is my tax return due?|<<<"
    )
    assert fenced_in(user["content"]) == "{name} {description}"


def test_topic_without_examples_is_marked() -> None:
    topic = TOPIC.model_copy(update={"examples": ()})
    assert "- (none)" in JudgeTemplate.built_in().filled(topic, "x")[1]["content"]


def test_sections_and_plain_text_are_parsed() -> None:
    assert JudgeTemplate.parse("Is {prompt} bad?\n\nSay.", "").messages == (
        ("user", "Is {prompt} bad?\n\nSay."),
    )
    template = JudgeTemplate.parse("\n[system] \nA\n\n[user]\nB {prompt}\n[system]\nC\n", "")
    assert template.messages == (("system", "A"), ("user", "B {prompt}"), ("system", "C"))


def test_shipped_template_is_read_back_unchanged() -> None:
    template = JudgeTemplate.built_in()
    again = JudgeTemplate.parse(template.text, "again.txt")
    assert (again.messages, again.id) == (template.messages, template.id)
    assert [role for role, _ in template.messages] == ["system", "user"]


def test_edited_template_has_another_id() -> None:
    template = JudgeTemplate.built_in()
    assert JudgeTemplate.parse(template.text.replace("judge", "decide"), "").id != template.id
    assert re.fullmatch("[0-9a-f]{8}", template.id)


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("{prompt}\nand {topic}", ":2: unknown placeholder {topic}", "placeholders are {name}"),
        ("{ prompt }", ":1: unknown placeholder { prompt }", "write {prompt}"),
        ("[user]\n{prompt}\n[assistant]\nyes", ":3: unknown section [assistant]", "[system] or"),
        ("[System]\nA\n[user]\n{prompt}", ":1: unknown section [System]", "[system] or [user]"),
        ("[system]\n{prompt}", ": {prompt} is missing in the section [user]", "write"),
        ("", ": {prompt} is missing", "write {prompt} there"),
        ("[user]\nnothing", ": {prompt} is missing", "write {prompt} there"),
    ],
)
def test_template_errors_name_file_line_and_remedy(text: str, place: str, told: str) -> None:
    with pytest.raises(TemplateError) as caught:
        JudgeTemplate.parse(text, "mine.txt")
    message = str(caught.value)
    assert message.startswith(f"mine.txt{place}")
    assert told in message.split("\n", 1)[1]


def test_templates_are_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes("\ufeff[user]\r\nÜber {prompt}\r\n".encode())
    template = JudgeTemplate.load(path)
    assert template.messages == (("user", "Über {prompt}"),)
    assert template.source == str(path)
    path.write_bytes(b"[user]\n\xff {prompt}")
    with pytest.raises(TemplateError, match=r"mine\.txt:2: not UTF-8: .*\n  save it as UTF-8"):
        JudgeTemplate.load(path)
    path.write_bytes(b"{prompt}" + b" " * 70_000)
    with pytest.raises(TemplateError, match="too large"):
        JudgeTemplate.load(path)
    with pytest.raises(TemplateError, match="is a folder\n  name a file in it"):
        JudgeTemplate.load(tmp_path)
    with pytest.raises(TemplateError, match=r"none\.txt: no such file"):
        JudgeTemplate.load(tmp_path / "none.txt")
