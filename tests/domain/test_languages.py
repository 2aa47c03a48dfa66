"""Languages of texts whose language is known."""

from __future__ import annotations

import re

import pytest

from guardtui.domain.languages import language, odd_languages
from guardtui.files.prompt_files import load_prompts
from guardtui.session.topic_places import sample_folder

LANGUAGE_OF = {
    "¿Puedo deducir el alquiler de mi piso en la declaración?": "es",
    "Was kann ich als Lehrer alles von der Steuer absetzen?": "de",
    "Je voudrais être remboursé de mon vol annulé": "fr",
    "Как мне платить меньше налогов?": "cyrl",
    "税金を減らす方法は": "han",
    "세금을 줄이는 방법": "hang",
    "How can I pay less tax this year?": "en",
    "tax": None,
    "🙂 123 !!": None,
}


@pytest.mark.parametrize("text", LANGUAGE_OF)
def test_languages(text: str) -> None:
    assert language(text) == LANGUAGE_OF[text]


_FOREIGN = re.compile(r"[¿¡ñáéíóúüäößèêçàûœ]|\b(Posso|Comment|Muss ich|Voglio|Wie |Ce |mio nome)\b")


@pytest.mark.parametrize("name", ["tax-advice", "airline-service", "harm-intent"])
def test_nothing_english_of_the_samples_is_taken_for_another_language(name: str) -> None:
    texts = load_prompts(sample_folder() / f"{name}.csv").prompts.to_list()
    plain = [text for text in texts if text.isascii() and re.search(r"\b(the|my|is)\b", text)]
    wrong = [text for text in plain if language(text) not in ("en", None)]
    assert [text for text in wrong if not _FOREIGN.search(text)] == []
    assert sum(language(text) == "en" for text in texts) > 0.7 * len(texts)


def test_the_odd_ones_out_are_found() -> None:
    german = "Was kann ich als Lehrer von der Steuer absetzen?"
    english = "How do I pay less tax on my income?"
    assert odd_languages(["Questions about tax and how to pay it", german, english]) == (
        "en",
        {1: "de"},
    )
    assert odd_languages([english, "tax", english]) is None
    assert odd_languages([german, german]) is None
