"""The page and its builders: what is put in stays a text, and what is built can be read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.document import GridColumn, PromptView
from guardtui.domain.text import display_text
from guardtui.reports.html.page import (
    Markup,
    PageSection,
    bullets,
    data_block,
    facts,
    join,
    page,
    quoted,
    rows_table,
    table,
    tag,
    text,
)

from .reading import data, read

NASTY = st.sampled_from(
    ["</script>", "<!--", "-->", "<script>", "]]>", "&lt;", "&#60;", '" onload="x', "'", "\u2028",
     "\u202e", "\x00", "\x1b[31m", "\ud800", "{{7*7}}", "javascript:x", "</title>", "</style>"]
)  # fmt: skip
TEXTS = st.lists(NASTY | st.text(max_size=8), max_size=6).map("".join)


def one_section(body: Markup) -> str:
    return page("Title", [PageSection("A section", "a-section", body)])


@given(TEXTS)
def test_texts_are_escaped_everywhere(value: str) -> None:
    columns = [GridColumn("a"), GridColumn(value), GridColumn("b", grid=False)]
    body = join(
        tag("p", value, class_=value, aria_label=value),
        bullets([value, quoted(value)]),
        facts([(value, value)]),
        table([value, "b"], [[value, value]], named=value),
        rows_table(columns, [[value, value, value]], [PromptView(value)], label=value),
    )
    root = read(page(value, [PageSection(value, "anchor", body)], lead=tag("p", value)))
    shown = display_text(value)
    main = root.at("anchor")
    assert main.all("p")[0].text == shown
    assert main.all("p")[0].attributes == {"class": shown, "aria-label": shown}
    assert main.all("table")[0].cells() == [[shown, "b"], [shown, shown]]
    assert root.all("title")[0].text == shown
    (block,) = data(root)
    assert block["rows"] == [[display_text(value, newlines=True)] * 3]
    assert (block["label"], block["views"][0]["title"]) == (shown, shown)


@given(TEXTS)
def test_a_data_block_is_read_as_it_was_written(value: str) -> None:
    value = display_text(value) + "\u2028</script><!--"
    written = data_block({"key": [value, 1, None, 0.5]})
    assert data(read(one_section(written))) == [{"key": [value, 1, None, 0.5], "rows": []}]


def test_text_joined_to_markup_by_mistake_is_escaped() -> None:
    wrong = tag("b", "bold") + "<i>"
    assert type(wrong) is str
    assert join(wrong) == "&lt;b&gt;bold&lt;/b&gt;&lt;i&gt;"
    assert text("<&\"'\x1b") == "&lt;&amp;&quot;&#x27;␛"


def test_sections_are_linked_and_named() -> None:
    root = read(
        page("T", [PageSection("One", "one", Markup()), PageSection("Two", "two", Markup())])
    )
    links = [(one.text, one.attributes["href"]) for one in root.all("nav")[0].all("a")]
    assert links == [("One", "#one"), ("Two", "#two")]
    for section in root.all("section"):
        assert root.at(str(section.attributes["aria-labelledby"])).name == "h2"
    assert len(root.all("h1")) == 1
    assert root.all("html")[0].attributes == {"lang": "en"}


def test_tables_have_headings_with_their_scope() -> None:
    root = read(one_section(table(["a", "b"], [["x", 1], ["y", None]], named="c")))
    heads = [(one.text, one.attributes["scope"]) for one in root.all("table")[0].all("th")]
    assert heads == [("a", "col"), ("b", "col"), ("x", "row"), ("y", "row")]
    with pytest.raises(ValueError, match="argument 2"):
        table(["a", "b"], [["x", 1, 2]])


def test_rows_are_there_on_paper_and_without_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardtui.reports.html.page.PRINTED", 3)
    columns = [
        GridColumn("line", 4, decimals=0),
        GridColumn("prompt"),
        GridColumn("score", 6, decimals=2),
        GridColumn("why", grid=False),
        GridColumn("more", grid=False, printed=False),
    ]
    rows = [[k, f"p{k}", k / 3, "because" if k == 1 else "", "hidden"] for k in range(30)]
    views = [
        PromptView("Odd", range(1, 30, 2)),
        PromptView("None", ()),
        PromptView("All", listed=False),
    ]
    root = read(one_section(rows_table(columns, rows, views, label="Rows")))
    paper = next(one for one in root.all("div") if one.attributes.get("class") == "rows-printed")
    assert [one.text for one in paper.all("h3")] == ["Odd (15)", "None (0)"]
    (listed,) = paper.all("table")
    assert listed.cells() == [
        ["line", "prompt", "score"],
        ["1", "p1why: because", "0.33"],
        ["3", "p3", "1.00"],
        ["5", "p5", "1.67"],
    ]
    assert "… and 12 more, on the screen." in paper.text
    live = next(one for one in root.all("div") if one.attributes.get("class") == "rows-live")
    assert ("hidden" in live.attributes, live.children) == (True, [])
    assert [view["rows"] for view in data(root)[0]["views"]] == [list(range(1, 30, 2)), [], None]


def test_long_cells_are_cut_on_paper_only() -> None:
    long = "x" * 5_000
    root = read(
        one_section(rows_table([GridColumn("p")], [[long]], [PromptView("all")], label="l"))
    )
    assert len(root.all("td")[0].text) == 1_001
    assert data(root)[0]["rows"] == [[long]]


def test_nan_is_refused_in_data() -> None:
    with pytest.raises(ValueError, match="JSON"):
        data_block({"key": float("nan")})


def test_nothing_is_loaded() -> None:
    made = one_section(rows_table([GridColumn("p")], [["x"]], [PromptView("all")], label="l"))
    assert not re.search(r"https?://|url\(|@import|\bsrc=|import\(|fetch\(|XMLHttp|eval", made)
