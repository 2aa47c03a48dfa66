"""Train the table of the encoder `static`: sums of token vectors that point where MiniLM points.

A token's vector alone says little about what it does in a sentence. Here the table learns from
whole texts: definitions and examples of WordNet, sentences made of its words, and requests as
people put them to assistants (`requests.txt`). No labelled case is used. Called by
`build_encoders.py`; needs torch.

The loss is that of Tokenlearn (Minish Lab, 2024), one minus the cosine to the teacher's vector,
plus a relational part (Park et al., 2019): within a batch, texts should be as near to each other
as they are to the teacher, by the Kullback-Leibler divergence of softmaxed cosines.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

REQUESTS_FILE = Path(__file__).parent / "requests.txt"
REQUESTS = 120_000
SENTENCES = 170_000
LONGEST = 300  # characters of a text
EPOCHS = 5
BATCH = 1024
RATE = 0.01
RELATIONAL = 1.0
SHARPNESS = 1 / 0.05

SENTENCE_FORMS = (
    "how do i {v} a {n}",
    "how can I {v} my {n}?",
    "what is the {a} way to {v} {n}",
    "what's the best {n} for {n}",
    "i need help with my {n}",
    "can you tell me about {n} and {n}",
    "why is my {n} {a}",
    "where can i find a {a} {n}",
    "please {v} the {n} for me",
    "I want to {v} a {n} without a {n}",
    "is it {a} to {v} the {n}?",
    "explain {n} in simple terms",
    "write a {n} about {a} {n}",
    "tell me how to {v} someone's {n}",
    "my {n} won't {v}",
    "what does {n} mean",
    "is there a {n} in the {n}",
    "how much {n} does a {n} need",
    "should i {v} or {v} my {n}",
    "give me step by step instructions to {v} {n}",
    "requests for {n} and {a} {n}",
    "questions about {n}, {n} or {n}",
    "{v} {n} from a {n}",
    "help me {v} {n} so that nobody can {v} it",
    "when will the {n} {v}",
    "I'd like to {v} the {n} of my {n}",
    "do you think {n} is {a}?",
    "compare {n} with {n}",
    "the {n} was {a}, what can I do about it?",
    "how to {v} {n}",
    "{n} {n}",
    "{a} {n}",
    "{v} the {a} {n}",
)
"""n: noun, v: verb, a: adjective or adverb."""

Teacher = Callable[[list[str]], np.ndarray]
Tokens = Callable[[list[str]], list[list[int]]]


def synonyms(folder: Path, kind: str) -> Iterator[tuple[list[str], str, list[str]]]:
    """Words, definition and examples of each synset in a `data.*` file of WordNet 3.0."""
    for line in (folder / f"data.{kind}").read_text("utf-8").splitlines():
        if line.startswith("  "):  # the licence
            continue
        head, _, gloss = line.partition(" | ")
        fields = head.split()
        count = int(fields[3], 16)
        words = [fields[4 + 2 * place] for place in range(count)]
        words = [re.sub(r"\(.*\)", "", word).replace("_", " ") for word in words]
        definition = re.split(r';\s*"', gloss)[0].strip().strip(";")
        yield words, definition, re.findall(r'"([^"]+)"', gloss)


def wordnet_texts(folder: Path) -> list[str]:
    """Definitions, examples, and sentences of WordNet's words, common words more often."""
    source = random.Random(0)
    found: set[str] = set()
    words: dict[str, set[str]] = {"n": set(), "v": set(), "a": set()}
    for kind, letter in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "a")):
        for names, definition, examples in synonyms(folder, kind):
            found |= {definition, *examples, f"{', '.join(names[:3])}: {definition}"}
            words[letter].update(name for name in names if letter != "n" or name == name.lower())
    seen: dict[str, int] = {}
    for line in (folder / "cntlist.rev").read_text("utf-8").splitlines():
        key, _, count = line.split()
        word = key.split("%")[0].replace("_", " ")
        seen[word] = seen.get(word, 0) + int(count)
    chosen: dict[str, Iterator[str]] = {}
    for letter, names in words.items():
        known = sorted(names)
        weights = [(seen.get(name, 0) + 0.3) ** 0.5 for name in known]
        chosen[letter] = iter(source.choices(known, weights, k=600_000))
    for _ in range(SENTENCES):
        form = source.choice(SENTENCE_FORMS)
        found.add(re.sub(r"\{(.)\}", lambda match: next(chosen[match[1]]), form))
    return sorted(found - {""})


def request_texts(path: Path = REQUESTS_FILE, count: int = REQUESTS) -> list[str]:
    """Requests made of the nouns, verbs and forms of `requests.txt`."""
    source = random.Random(3)
    fields: dict[str, list[str]] = {}
    name = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("["):
            name, _, line = line[1:].partition("] ")
        if line.strip() and not line.startswith("#"):
            fields.setdefault(name, []).append(line.strip())
    forms, ends, noun_forms = (
        fields.pop(key)[0].split(" | ") for key in ("forms", "ends", "nouns")
    )
    lists = {key: [part.split(", ") for part in parts] for key, parts in fields.items()}
    found: set[str] = set()
    while len(found) < count:
        nouns, kind, unkind = lists[source.choice(list(lists))]
        if source.random() < 0.03:
            nouns = lists[source.choice(list(lists))][0]
        if source.random() < 0.25:
            text = source.choice(noun_forms).replace("{n}", source.choice(nouns))
            text = text.replace("{m}", source.choice(nouns))
        else:
            verb = source.choice(kind if source.random() < 0.6 else unkind)
            article = source.choice(("a ", "the ", "my ", "someone's ", "our ", ""))
            action = f"{verb} {article}{source.choice(nouns)}"
            if source.random() < 0.15:
                action += f" and {source.choice(kind)} the {source.choice(nouns)}"
            text = source.choice(forms).replace("{a}", action)
            if source.random() < 0.4:
                text += f" {source.choice(ends)}"
        if source.random() < 0.3:
            text = text[0].upper() + text[1:]
        if source.random() < 0.3:
            text += source.choice("?.!")
        found.add(text)
    return sorted(found)


def taught(texts: Sequence[str], teacher: Teacher, cache: Path | None) -> np.ndarray:
    """The teacher's vectors [n, d], in parts that are kept in `cache` between runs."""
    parts = []
    for start in range(0, len(texts), 20_000):
        part = list(texts[start : start + 20_000])
        key = hashlib.sha256(json.dumps(part).encode()).hexdigest()[:20]
        file = cache / f"taught-{key}.npy" if cache else None
        if file and file.exists():
            parts.append(np.load(file).astype(np.float32))
            continue
        vectors = teacher(part)
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, vectors.astype(np.float16))
        parts.append(vectors.astype(np.float16).astype(np.float32))
        print(f"taught {start + len(part)} of {len(texts)}", flush=True)
    return np.concatenate(parts)


def distilled(
    start: np.ndarray, wordnet: Path, teacher: Teacher, tokens: Tokens, cache: Path | None
) -> np.ndarray:
    """A table [tokens, d] that starts as `start` and is trained on all texts.

    The same on one machine with one version of torch; elsewhere close, not equal.
    """
    torch.manual_seed(0)
    texts = [text[:LONGEST] for text in (*wordnet_texts(wordnet), *request_texts())]
    random.Random(5).shuffle(texts)
    found = tokens(texts)
    kept = [row for row, part in enumerate(found) if part]
    texts, found = [texts[row] for row in kept], [found[row] for row in kept]
    vectors = taught(texts, teacher, cache)
    vectors -= vectors.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(vectors.T))
    axes = axes[:, ::-1][:, : start.shape[1]]
    # The sign of an axis is arbitrary; fixing it makes the result the same on every machine.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    goal = vectors @ axes
    goal /= np.linalg.norm(goal, axis=1, keepdims=True)
    lengths = np.array([len(part) for part in found])
    flat = np.concatenate([np.asarray(part) for part in found])
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    sums = np.add.reduceat(start[flat], offsets, axis=0)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True) + 1e-9
    turn, *_ = np.linalg.lstsq(sums[:100_000], goal[:100_000], rcond=None)
    table = start @ turn
    table /= np.linalg.norm(table, axis=1).mean()
    return _trained(table, flat, offsets, lengths, torch.tensor(goal, dtype=torch.float32))


def _trained(
    start: np.ndarray, flat: np.ndarray, offsets: np.ndarray, lengths: np.ndarray, goal: Any
) -> np.ndarray:
    table = torch.nn.EmbeddingBag(*start.shape, mode="sum")
    table.weight.data = torch.tensor(start, dtype=torch.float32)
    steps = EPOCHS * (len(lengths) // BATCH)
    optimiser = torch.optim.Adam(table.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / 100) * max(0.02, 1 - step / steps)
    )
    same = torch.eye(BATCH, dtype=torch.bool)
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(len(lengths))
        total = 0.0
        for place in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[place : place + BATCH]
            ids = np.concatenate([flat[offsets[row] :][: lengths[row]] for row in rows])
            begin = np.concatenate([[0], np.cumsum(lengths[rows])[:-1]])
            made = functional.normalize(table(torch.tensor(ids), torch.tensor(begin)), dim=1)
            wanted = goal[rows]
            loss = (1 - (made * wanted).sum(1)).mean()
            near = [
                torch.log_softmax((part @ part.T * SHARPNESS).masked_fill(same, -1e4), 1)
                for part in (made, wanted)
            ]
            loss = loss + RELATIONAL * functional.kl_div(
                *near, log_target=True, reduction="batchmean"
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total * BATCH / len(order):.4f}", flush=True)
    trained: np.ndarray = table.weight.detach().numpy()
    return trained
