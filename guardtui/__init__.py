"""guardtui: refine custom topic guardrails in the terminal, and evaluate them from Python.

- `load_topic`, `load_prompts`: read a topic file and labelled prompts.
- `evaluate`: evaluate a topic, with the figures of `guardtui eval`; `compare`: compare two results.
- `Topic`, `PromptSet`, `EvaluationResult`, `ComparisonResult`, `Mistake`: the types of these.
- `GuardtuiError`: the base class of errors in files and evaluations; its message has the remedy.
"""

__version__ = "1.0.0"

__all__ = [
    "ComparisonResult",
    "EvaluationResult",
    "GuardtuiError",
    "Mistake",
    "PromptSet",
    "Topic",
    "compare",
    "evaluate",
    "load_prompts",
    "load_topic",
]

# Not imported: a Ctrl-C meanwhile would show a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from guardtui.api import (
        ComparisonResult,
        EvaluationResult,
        GuardtuiError,
        Mistake,
        PromptSet,
        Topic,
        compare,
        evaluate,
        load_prompts,
        load_topic,
    )
else:
    # Loaded on first access: every command imports this package.
    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from guardtui import api

        return getattr(api, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
