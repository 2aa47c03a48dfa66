"""Glossary of reports, for readers who are not authors."""

from __future__ import annotations

from guardtui.domain.figures import ON_NEW_PROMPTS

RATE_TERMS: tuple[tuple[str, str], ...] = (
    (
        "coverage",
        "the smaller of TPR and TNR: how well the guardrail does on the side where it does worse",
    ),
    (
        "TPR",
        "true positive rate: the share of the prompts on which the topic should trigger where it "
        "does",
    ),
    (
        "TNR",
        "true negative rate: the share of the prompts on which the topic should not trigger where "
        "it does not",
    ),
    ("accuracy", "the share of all prompts with the right verdict"),
    ("precision", "of the prompts on which the topic triggers, the share where it should"),
    ("F1", "the harmonic mean of precision and TPR"),
    (
        "separation",
        "how far the scores of the two kinds of prompts are apart: the chance that one that "
        "belongs to the topic scores above one that does not",
    ),
    (
        ON_NEW_PROMPTS,
        "the two figures between which the rate is for all prompts of this kind, with 95 % "
        "confidence",
    ),
    ("TP, TN", "true positive, true negative: the topic triggers, or does not, and rightly so"),
    ("FN", "false negative: the topic does not trigger and should (a prompt is missed)"),
    ("FP", "false positive: the topic triggers and should not (a prompt is wrongly stopped)"),
)
"""Terms of every report with rates."""

CHANGE_TERMS: tuple[tuple[str, str], ...] = (
    ("regression", "a prompt whose verdict was right before the edit and is wrong now"),
    ("fix", "a prompt whose verdict was wrong before the edit and is right now"),
)
"""Terms of reports that compare."""

AUDIT_TERMS: tuple[tuple[str, str], ...] = (
    *RATE_TERMS,
    ("conflict", "prompts about which two topics, or two prompt sets, disagree"),
)
"""Terms of the audit of a profile, where positive means that the profile stops a prompt."""
