"""The base class of all errors whose message is meant for the author.

Exit code of the command in parentheses, unless it is 3 (not completed):

    GuardtuiError
    ├── InputError (2)              a command's arguments or files
    ├── FileError (2)               a file, with place, problem and remedy
    │   ├── ContentError            in its content
    │   ├── ConfigError             in the settings
    │   ├── NotATopicError          a file that holds no topic; PromptsGivenError: prompts
    │   ├── SeveralTopicsError      a file of several topics where one is needed
    │   ├── PromptsChangedError, ChangedOnDiskError, GoneFromDiskError
    │   └── UnknownPromptsError
    ├── CannotEditError             a text whose definition cannot be replaced in place
    ├── PromptSetError (2)          the rows of a prompt set, all errors together
    │   └── OutputFileError         the rows of a file of outputs
    ├── FilterError                 a filter line
    ├── ConfigurationError (2)      invalid keys of a guardrail
    ├── StoreError (2): DecidedElsewhereError    the session's database
    ├── ReportError (2)             a report that cannot be made
    ├── ScannerError                a scan that cannot run
    │   ├── AirsError, PolicyError, UnreadableJournalError
    │   └── EncoderError, OptionError, TemplateError
    ├── ServiceError                a request to a remote service
    │   and PauseTooLongError, AnswerTooLargeError, AddressError, DuplicateKeyError
    ├── ModelKeyError (2)           the key of a model
    ├── KeyringError, KeyTextError
    ├── BudgetError, FormError
    ├── OperatingPointError (2)     a threshold that cannot be fitted
    ├── ForecastError (2)           too few verdicts to forecast from
    ├── ScoreError, RecordedError (2)
    ├── GraderError, NotAskedError
    ├── SplitError, TooFewPromptsError, SuggestionError, RefinementError, StoppedError
    ├── WorkersError                processes or a cluster that cannot embed
    ├── ForeignError (2)            test cases of another tool
    ├── UnsavedError, HoldsSecretError, ExistsError    of the app
    │   and WordingError, WriterError, GuardrailError, ExperimentError (2),
    │   HistoryError (2): IncompleteError (3), NotShownError (4), AgentError (2): OutdatedError,
    │   InboxError (2): LabelledMeanwhileError
    └── SettingsError, FaultError, RefusedError        of the sandbox

The package `scorer` is self-contained: its errors are not in this tree.
"""

from __future__ import annotations

from typing import ClassVar


class GuardtuiError(Exception):
    """An error of guardtui; the message says what happened, where, and what to do."""

    exit_code: ClassVar[int] = 3
    """Exit code of a command that ends with this error: 2 bad input, 3 not completed."""
