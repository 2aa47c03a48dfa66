"""Settings: where they come from, what is wrong with a file, and what stays when one is set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardtui.config import (
    SETTINGS,
    Config,
    ConfigError,
    SettingSource,
    Value,
    config_path,
    find_setting,
    load_config,
)
from guardtui.files.problems import FileError
from tests.examples import up_to
from tests.yaml_texts import yaml_texts

COMMENTED = """\
# my settings
theme: nord   # calm

# no motion on this train
animation: none
keys:
    # next to Escape
    screen.keep: f13  # a large key
    "screen.discard": 'f14'
# the end
"""

UNREADABLE = "this YAML contains an unreadable value"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "config.yaml"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8", newline="")
    return path


def mistakes(path: Path, text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(ConfigError) as caught:
        load_config(write(path, text))
    for problem in caught.value.problems:
        assert str(problem) in str(caught.value)
        assert problem.remedy
    return [(problem.line, problem.problem) for problem in caught.value.problems]


def test_without_a_file_the_defaults_hold(path: Path) -> None:
    config = load_config(path)
    for setting in SETTINGS:
        assert config.value(setting.key) == setting.default
        assert config.source(setting.key) is SettingSource.DEFAULT
        assert setting.parse(setting.show(setting.default)) == setting.default
        assert setting.documentation.endswith((".", "?"))
    assert not path.exists()
    assert config.preview_pause == 30


def test_flags_precede_environment_file_and_default(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, "encoder: static\nanimation: none\npreview_pause: 40\ntour: never\n")
    monkeypatch.setenv("GUARDTUI_ENCODER", "static")
    monkeypatch.setenv("GUARDTUI_ANIMATION", "full")
    monkeypatch.setenv("GUARDTUI_TOUR", "")  # empty counts as unset
    config = load_config(path, {"encoder": "minilm"})
    assert (config.encoder, config.source("encoder")) == ("minilm", SettingSource.FLAG)
    assert (config.animation, config.source("animation")) == ("full", SettingSource.ENVIRONMENT)
    assert (config.preview_pause, config.source("preview_pause")) == (40, SettingSource.FILE)
    assert (config.tour, config.source("tour")) == ("never", SettingSource.FILE)
    assert (config.theme, config.source("theme")) == ("guardtui-dark", SettingSource.DEFAULT)
    assert config.line("preview_pause") == 3


def test_the_environment_precedes_a_set_value(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDTUI_THEME", "nord")
    config = load_config(path)
    config.set_value("theme", "gruvbox")
    assert config.theme == "nord"
    monkeypatch.delenv("GUARDTUI_THEME")
    assert load_config(path).theme == "gruvbox"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("thme: nord\n", [(1, "thme: unknown setting; did you mean 'theme'?")]),
        ("# x\nanimation: [none]\n", [(2, "animation: one value belongs here")]),
        ("animation: {a: b}\n", [(1, "animation: one value belongs here")]),
        ("theme:\n", [(1, "theme: a value is missing")]),
        ("theme: !!python/object x\n", [(1, "theme: one value belongs here")]),
        ("theme: !x y\n", [(1, "theme: one value belongs here")]),
        ("preview_pause: 9\n", [(1, "preview_pause: '9' is not a whole number from 10 to 2000")]),
        ("preview_pause: 1e2\n", [(1, "preview_pause: '100.0' is not a whole number from 10 to 2000")]),  # noqa: E501
        ("tour: nver\n", [(1, "tour: 'nver' is not one of auto, never; did you mean 'never'?")]),
        ("keys: f1\n", [(1, "keys: a mapping belongs here")]),
        ("keys: [f1]\n", [(1, "keys: a mapping belongs here")]),
        ("keys: {a: [f1]}\n", [(1, "keys: an action's keys are one text, such as f13,ctrl+g")]),
        ("keys: {a: x, a: y}\n", [(1, "the key 'a' is given twice")]),
        ("tour: auto\ntour: auto\n", [(2, "the key 'tour' is given twice, first in line 1")]),
        ("- theme\n", [(1, "these are no settings")]),
        ("nord\n", [(1, "these are no settings")]),
        ("[1]: x\n", [(1, "a list: unknown setting")]),
        ("? {a: b}\n: x\n", [(1, "a mapping: unknown setting")]),
        ("# x\nnull: x\n", [(2, "null: unknown setting")]),
        ("1: 2\n1.5: 2\n", [(1, "1: unknown setting"), (2, "1.5: unknown setting")]),
        ("2020-01-01: x\n", [(1, "2020-01-01: unknown setting")]),
        ("!x tour: auto\n", [(1, "tour: unknown setting")]),
        ("animation: none\n<<: {a: b}\n", [(None, "a: unknown setting")]),
        ("animation: none\n!!set tour: never\n", [(2, UNREADABLE)]),
        ("animation: none\n!!int tour: never\n", [(2, UNREADABLE)]),
        ("# x\ntour: !!bool maybe\n", [(2, UNREADABLE)]),
        ("theme: 2020-99-99\n", [(1, UNREADABLE)]),
        (f"# x\n\ntour: {'9' * 5000}\n", [(3, UNREADABLE)]),
        ("# x\n%YAML 1.5\n---\ntour: auto\n", [(2, "only YAML 1.1 and 1.2 can be read")]),
        ("theme: \"a\\eb\"\n", [(1, "theme: it contains a control character")]),
    ],
)  # fmt: skip
def test_an_error_names_its_line(path: Path, text: str, found: list[tuple[int, str]]) -> None:
    assert mistakes(path, text) == found


def test_all_errors_are_reported_together_in_order(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUARDTUI_ANIMATION", "perhaps")
    result = mistakes(path, "colour: red\ntour: 7\ntheme: nord\npreview_pause: fast\n")
    assert [line for line, _ in result] == [None, 1, 2, 4]
    assert result[0][1] == "'perhaps' is not one of full, none"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"theme: [", ":1: "),
        (b"theme: a\n\ttour: b", ":2: this line is indented with a tab"),
        (b"theme: a\n---\ntheme: b\n", "but found another document"),
        (b"theme: a\n%YAML 1.2\n", ":3: expected '<document start>'"),
        pytest.param(b"[" * 5000, "nested too deeply", marks=pytest.mark.exhaustive),
        (b"theme: \xff\n", ":1: not UTF-8"),
        (b"theme: \0\n", "NUL"),
        (b"#" * 70_000, "more than 64 KiB"),
        (b"a: &a [*a]\n", "a: unknown setting"),
        (b"theme: *nowhere\n", ":1: found undefined alias"),
        (b"theme: a\x07\n", ":1: this YAML contains an invalid character"),
    ],
)
def test_other_files_are_reported(path: Path, content: bytes, said: str) -> None:
    write(path, "").write_bytes(content)
    with pytest.raises(FileError) as caught:
        load_config(path)
    assert said in str(caught.value)
    before = path.read_bytes()
    with pytest.raises(FileError):
        Config(path).set_value("animation", "none")
    assert path.read_bytes() == before


def test_a_folder_instead_of_the_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder"):
        load_config(tmp_path)


@pytest.mark.parametrize("content", ["", "\n", "# only this\n", "---\n", "{}\n", "\ufeff"])
def test_a_file_without_settings_has_none(path: Path, content: str) -> None:
    config = load_config(write(path, content))
    assert config.source("theme") is SettingSource.DEFAULT
    config.set_value("theme", "nord")
    config.set_value("keys", {"screen.keep": "f13"})
    again = load_config(path)
    assert (again.theme, again.keys) == ("nord", {"screen.keep": "f13"})
    if "#" in content:
        assert "# only this" in path.read_text("utf-8")


def test_a_missing_file_is_created_with_a_header(path: Path) -> None:
    config = load_config(path)
    config.set_value("theme", None)
    assert not path.exists()
    config.set_value("theme", "nord")
    lines = path.read_text("utf-8").splitlines()
    assert all(line.startswith("# ") for line in lines[:-1])
    assert lines[-1] == "theme: nord"
    assert [one.name for one in path.parent.iterdir()] == ["config.yaml"]


def test_a_value_is_changed_in_its_place(path: Path) -> None:
    def words() -> list[list[str]]:
        return [line.split() for line in path.read_text("utf-8").splitlines()]

    config = load_config(write(path, COMMENTED))
    config.set_value("theme", "guardtui-light")
    config.set_value("animation", "full")
    expected = COMMENTED.replace("nord", "guardtui-light").replace(
        "animation: none", "animation: full"
    )
    assert words() == [line.split() for line in expected.splitlines()]
    config.set_value("tour", "never")
    assert sorted(words()) == sorted([*map(str.split, expected.splitlines()), ["tour:", "never"]])


def test_an_entry_is_not_removed_from_a_line_of_several(path: Path) -> None:
    config = load_config(write(path, "{theme: nord, animation: none}\n"))
    config.set_value("theme", "dracula")
    assert path.read_text("utf-8") == "{theme: dracula, animation: none}\n"
    with pytest.raises(FileError, match="set it by hand"):
        config.set_value("animation", None)
    assert path.read_text("utf-8") == "{theme: dracula, animation: none}\n"


def test_line_ends_of_another_system_stay(path: Path) -> None:
    config = load_config(write(path, "# a\r\ntheme: nord\r\nanimation: none"))
    config.set_value("theme", "dracula")
    config.set_value("tour", "never")
    assert path.read_bytes() == b"# a\r\ntheme: dracula\r\nanimation: none\r\ntour: never\r\n"


def test_a_default_that_is_chosen_is_written_and_a_reset_takes_the_line_out(path: Path) -> None:
    config = load_config(write(path, COMMENTED))
    config.set_value("animation", "full")
    assert "animation: full\n" in path.read_text("utf-8")
    assert config.source("animation") is SettingSource.FILE
    config.set_value("animation", None)
    config.set_value("theme", None)
    config.set_value("keys", None)
    text = path.read_text("utf-8")
    assert text == "# my settings\n\n# no motion on this train\n# the end\n"
    assert config.source("keys") is SettingSource.DEFAULT
    assert config.line("animation") is None


def test_keys_are_changed_with_their_comments(path: Path) -> None:
    config = load_config(write(path, COMMENTED))
    assert config.keys == {"screen.keep": "f13", "screen.discard": "f14"}
    assert config.line("keys.screen.discard") == 9
    config.set_value("keys", {"screen.keep": "f15,ctrl+g", "screen.undo": "f16"})
    text = path.read_text("utf-8")
    assert load_config(path).keys == {"screen.keep": "f15,ctrl+g", "screen.undo": "f16"}
    for comment in ("# my settings", "# calm", "# no motion", "# next to Escape", "# a large key"):
        assert comment in text


def test_changes_by_another_program_are_preserved(path: Path) -> None:
    config = load_config(write(path, "theme: nord\n"))
    write(path, "theme: nord\n# new\nanimation: none\n")
    config.set_value("theme", "dracula")
    assert path.read_text("utf-8") == "theme: dracula\n# new\nanimation: none\n"


def test_a_setting_holds_for_the_run_when_it_cannot_be_written(path: Path) -> None:
    config = load_config(write(path, "theme: nord\n"))
    write(path, "theme: [\n")
    with pytest.raises(FileError):
        config.set_value("theme", "dracula")
    assert config.theme == "dracula"
    assert path.read_text("utf-8") == "theme: [\n"


def test_without_a_path_nothing_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDTUI_CONFIG", str(path))
    config = Config()
    config.set_value("theme", "nord")
    assert config.theme == "nord"
    assert not path.exists()
    assert config_path() == path


def values(key: str) -> st.SearchStrategy[Value | None]:
    setting = find_setting(key)
    name = st.from_regex(r"[A-Za-z0-9 :#'\"{}\[\],&*!|>%@-]{1,12}", fullmatch=True)
    if isinstance(setting.default, int):
        return st.none() | st.integers(setting.least, setting.most)
    if isinstance(setting.default, dict):
        stripped = name.filter(lambda text: text.strip() == text)
        return st.none() | st.dictionaries(stripped, stripped, max_size=3)
    if setting.choices:
        return st.none() | st.sampled_from(setting.choices)
    return st.none() | name.filter(lambda text: text.strip() == text)


changes = st.lists(
    st.sampled_from([one.key for one in SETTINGS]).flatmap(
        lambda key: st.tuples(st.just(key), values(key))
    ),
    max_size=8,
)


@settings(max_examples=up_to(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=changes,
    start=st.sampled_from(["", COMMENTED, "animation:\n  none\n"]),
)
def test_set_values_are_read_back(
    path: Path, changes: list[tuple[str, Value | None]], start: str
) -> None:
    config = load_config(write(path, start))
    for key, value in changes:
        if value is None:
            config.set_value(key, None)
        else:
            config.set_value(key, value)
        again = load_config(path)
        for setting in SETTINGS:
            assert again.value(setting.key) == config.value(setting.key)
            assert (again.source(setting.key), again.line(setting.key)) == (
                config.source(setting.key),
                config.line(setting.key),
            )
    if start is COMMENTED:
        assert path.read_text("utf-8").startswith("# my settings\n")


@pytest.mark.process
def test_reading_settings_loads_no_slow_modules(path: Path) -> None:
    program = (
        "import sys, pathlib\nfrom guardtui.config import load_config\n"
        f"load_config(pathlib.Path({str(path)!r}))\nprint(*sys.modules)"
    )

    def loaded() -> set[str]:
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True,
            cwd=Path(__file__).parent.parent,
        )  # fmt: skip
        return set(run.stdout.split())

    slow = {"textual", "polars", "numpy", "pydantic", "asyncio", "rich", "click"}
    assert not {*slow, "ruamel.yaml"} & loaded()
    write(path, "animation: none\n")
    result = loaded()
    assert "ruamel.yaml" in result
    assert not slow & result


@settings(max_examples=up_to(3000), deadline=None, suppress_health_check=list(HealthCheck))
@given(text=yaml_texts(tuple(one.key for one in SETTINGS), COMMENTED, "{theme: nord, tour: never}"))
def test_any_text_is_read_or_reported_and_a_set_value_is_read_back(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        config = load_config(path)
    except ConfigError:
        return
    other = "full" if config.animation == "none" else "none"
    expected = {one.key: config.value(one.key) for one in SETTINGS} | {"animation": other}
    try:
        config.set_value("animation", other)
    except FileError:
        return
    again = load_config(path)
    assert {one.key: again.value(one.key) for one in SETTINGS} == expected
