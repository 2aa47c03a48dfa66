"""Command lines that are refused: exit code 2 before the work, a message, nothing written."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from guardtui.app.guardrails.named import FILE

from .conftest import TOPIC, Run

LONG = "n" * 300
DEAD = "http://127.0.0.1:9/v1#m"
ALIASES = {
    "EVAL": "eval topic.yaml --prompts prompts.csv",
    "JUDGE": f"eval topic.yaml --prompts prompts.csv --guardrail judge:{DEAD}",
    "DECISION": "eval topic.yaml --prompts prompts.csv --guardrail decision:https://a.example/v1",
    "AIRS": "eval topic.yaml --prompts prompts.csv --guardrail airs:prod",
    "THRESHOLDS": "eval topic.yaml --prompts prompts.csv --thresholds",
    "CHECK": "check topic.yaml --prompts prompts.csv",
    "COMPARE": "compare --prompts prompts.csv topic.yaml",
    "REFINE": "refine topic.yaml --prompts prompts.csv",
    "EXPERIMENT": "refine topic.yaml --prompts prompts.csv --experiment --guardrail "
    "decision:https://a.example/v1#m",
    "SCORE": "score outputs.csv --scorer",
    "SERVE": "serve topic.yaml --prompts prompts.csv",
    "NEW": "new Tea --description Tea --intent allow --example a",
    "WRITER": "open topic.yaml --writer https://a.example#m",
}
"""First words of a command line, in short."""

REFUSED = """
evl                                     | error: no topic file 'evl'; did you mean 'guardtui eval'?
evl topic.yaml --prompts x              | did you mean 'guardtui eval'?
--prompts prompts.csv chek              | did you mean 'guardtui check'?
runtime topics eval --profile p         | 'runtime topics eval' of airs-cli is 'guardtui eval FILE
runtime topics sample                   | 'guardtui sample' here; see 'For users of airs-cli'
runtime bulk-scan --input x             | --guardrail airs --set batch=true' here
runtime scan hello                      | 'runtime' is a command of airs-cli: see 'For users
runtime                                 | 'runtime' is a command of airs-cli: see
runtime '\x1b[31m' --help               | 'runtime' is a command of airs-cli: see
other.yaml                              | no topic file 'other.yaml'; give the path of a topic file
'\x1b[31mred'                           | no topic file '␛[31mred'
--nonsense                              | No such option
topic.yaml --prompts gone.csv           | gone.csv: no such file
topic.yaml                              | the app needs a terminal
topic.yaml --threshold 1                | is not a number between 0 and 1
                                        | the app needs a terminal

open topic.yaml --prompts -             | cannot read prompts from standard input
open topic.yaml --guardrail fasst       | did you mean 'fast'?
open topic.yaml --writer https://a.b/v1 | --writer: 'https://a.b/v1' has no model
open topic.yaml --writer http://a.b#m   | --writer: http://a.b would send
open topic.yaml --set allow-http=true   | allow-http: unknown key
WRITER --set budget=1                   | budget: unknown key of engine (a key of judge, decision)
WRITER --set price-in=1                 | price-in: unknown key
WRITER --guardrail judge:https://b.c#m  | GUARDTUI_MODEL_KEYS=
SERVE --threshold 2                     | '2' is not a number between 0 and 1
SERVE --guardrail judg                  | there is no guardrail 'judg'
SERVE --metric 'nothing()'              | nothing
SERVE --plugin gone.py                  | gone.py
SERVE --host 0.0.0.0                    | it listens on 127.0.0.1 only
SERVE --host ::                         | ssh -L 8000:127.0.0.1:8000
SERVE --port 70000                      | is not in the range
serve gone.yaml                         | no topic file 'gone.yaml'
serve topic.yaml --prompts gone.csv     | gone.csv: no such file
serve topic.yaml --prompts -            | cannot read prompts from standard input
serve prompts.csv --prompts prompts.csv | a file of prompts, not a topic file

eval                                    | Missing argument 'TOPIC'
eval topic.yaml                         | Missing option '--prompts'
eval gone.yaml --prompts prompts.csv    | gone.yaml
eval . --prompts prompts.csv            | .
eval empty.csv --prompts prompts.csv    | empty.csv
eval binary.csv --prompts prompts.csv   | binary.csv
eval LONG --prompts prompts.csv         | LONG
eval topic.yaml --prompts gone.csv      | gone.csv
eval topic.yaml --prompts .             | .
eval topic.yaml --prompts -             | standard input: the file is empty
eval topic.yaml --prompts topic.yaml    | topic.yaml
eval topic.yaml --prompts empty.csv     | empty.csv
eval topic.yaml --prompts binary.csv    | binary.csv
eval topic.yaml --prompts label.csv     | label.csv
eval topic.yaml --prompts twice.csv     | twice.csv:1: two columns are called 'prompt': 1 and 2
eval topic.yaml --prompts LONG          | LONG
EVAL --sheet S                          | --sheet is for Excel
EVAL --threshold abc                    | between 0 and 1, both excluded, nor built-in or fitted
EVAL --threshold 0                      | '0' is not a number between 0 and 1
EVAL --threshold nan                    | 'nan' is not a number between 0 and 1
EVAL --threshold 50%                    | '50%' is not a number between 0 and 1
EVAL --threshold Fitted                 | 'Fitted' is not a number between 0 and 1
EVAL --min-coverage 1.1                 | 1.1 is not in the range 0<=x<=1
EVAL --min-coverage nan                 | 'nan' is not a number
EVAL --max-errors -1                    | --max-errors
EVAL --max-regressions 0                | --max-regressions needs --baseline
EVAL --require-significant              | --require-significant needs --min-coverage or --baseline
EVAL --require-complete --max-errors 0  | leave --max-errors out
EVAL --format pdf                       | unknown report format 'pdf'
EVAL --format junit --only-regressions  | --only-regressions needs --baseline
EVAL -o r.json --excel                  | --excel is for the format csv: add --format csv
EVAL --baseline last                    | no kept iteration to compare with
EVAL --baseline 3                       | no iteration 3 to compare with
EVAL --baseline gone.json               | gone.json: no such file
EVAL --baseline prompts.csv             | prompts.csv:1: is not JSON
EVAL --baseline .                       | .: is a folder
EVAL --baseline LONG                    | LONG
EVAL -o no/such/folder/out.txt          | no/such/folder
EVAL -o .                               | .
EVAL -o a.json -o a.json                | --output a.json is named twice
EVAL -o - -o -                          | --output - is named twice
EVAL -o a.json -o b.md --format md      | --format is for one output
EVAL -o a.json -o b.pages               | b.pages: .pages is not the ending of a report
EVAL -o a.json -o topic.yaml            | topic.yaml: this is an input
EVAL -o a.json -o no/where/b.md         | no/where/b.md
EVAL -o LONG.html                       | LONG
EVAL -o LONG/x.html                     | LONG
EVAL --likely-changes                   | --likely-changes needs a guardrail: add --guardrail
EVAL --within 0.02                      | --within and --max-calls are for --likely-changes
EVAL --max-calls 9                      | --within and --max-calls are for --likely-changes
JUDGE --likely-changes --within 0                | --within
JUDGE --likely-changes --within nan              | --within
JUDGE --likely-changes --max-calls 0             | --max-calls
EVAL --repeat near                      | --repeat needs --epochs of at least 2
EVAL --repeat changed --epochs 2        | --repeat changed needs --baseline
EVAL --reducer mean                     | --reducer needs --epochs of at least 2
EVAL --jobs 2 --ray                     | --jobs is for this machine alone: omit it, or --ray
EVAL --jobs 0                           | 0 is not in the range
EVAL --fresh                            | --fresh does not fit engine
EVAL --set concurrency=2                | concurrency: unknown key of engine
EVAL --set rate=2                       | rate: unknown key of engine
EVAL --set batch=true                   | batch: unknown key of engine
EVAL --set region=de                    | region: unknown key of engine
EVAL --set api=systemone                | api: unknown key of engine (a key of decision)
EVAL --set budget=1                     | budget: unknown key of engine (a key of judge, decision)
EVAL --set form=graded                  | form: unknown key of engine (a key of judge)
THRESHOLDS --min-tpr 1.5                | 1.5 is not in the range 0<=x<=1
THRESHOLDS --min-tnr nan                | 'nan' is not a number
THRESHOLDS --output prompts.csv         | prompts.csv
THRESHOLDS --format html                | --thresholds has the formats table, json, csv
THRESHOLDS --min-coverage 0.5           | a gate does not fit --thresholds: omit it
THRESHOLDS --baseline last              | --baseline does not fit --thresholds: omit it
EVAL --min-tpr 0.9                      | --min-tpr and --min-tnr are for --thresholds: add it
JUDGE --thresholds                      | --thresholds needs scores, which judge:

EVAL --guardrail fasst                  | there is no guardrail 'fasst'; did you mean 'fast'?
EVAL --guardrail prod --set encoder=pair | unknown key of airs
EVAL --guardrail panel --set api-key=sk-1 | this looks like a secret
EVAL --guardrail panel --threshold 0.5  | --threshold does not fit panel
EVAL --guardrail judge                  | 'judge' is not an address of a guardrail
EVAL --guardrail judge:http://a.b/v1    | 'http://a.b/v1' has no model
EVAL --guardrail judge:http://a.b/v1#m  | model: http://a.b would send
JUDGE --set form=word                   | form: unknown form of answer 'word'
JUDGE --set 'form=pattern:('            | form: '(' is not an expression
JUDGE --set template=none.txt           | none.txt: no such file
JUDGE --set template=bad.txt            | bad.txt:2: unknown placeholder
JUDGE --set template=bad.txt -o bad.txt | bad.txt
JUDGE --set model-option.seed           | 'model-option.seed' is not of the form KEY=VALUE
JUDGE --set model-option.x=low          | model-option: x needs JSON after the =
JUDGE --set model-option.x=NaN          | the value of an option is not valid JSON
JUDGE --set model-option.n=3            | model-option: n cannot be set: guardtui sets it
JUDGE --set model-option.x=1 --set model-option.x=2 | model-option.x: given twice
JUDGE --set budget=1                    | budget: needs prices
JUDGE --set budget=0 --set price-in=1   | budget: '0' is not valid
JUDGE --set price-in=nan                | price-in: 'nan' is not valid
JUDGE --set max-tokens=0                | max-tokens: '0'
JUDGE --set concurrency=513             | concurrency: '513' is not valid
JUDGE --set region=de                   | region: unknown key of judge (a key of airs)
JUDGE --threshold 0.5                   | --threshold does not fit judge:
JUDGE --with topic.yaml                 | --with does not fit judge:
JUDGE --jobs 2                          | --jobs is for the engine, whose prompts are embedded
JUDGE --ray                             | --ray is for the engine, whose prompts are embedded
EVAL --guardrail decision               | 'decision' is not an address of a guardrail
EVAL --guardrail decision:http://a.b#m  | https
DECISION                                | has no model
DECISION#m --set form=graded            | unknown key of decision (a key of judge)
DECISION#m --set budget=1               | budget: needs prices
DECISION#m,n                            | a decision model is one model
AIRS --threshold 0.5                    | --threshold does not fit airs:prod
AIRS --ray=auto                         | --ray is for the engine
AIRS --set encoder=static               | encoder: unknown key of airs (a key of engine)
AIRS --set allow-http=true              | allow-http: unknown key of airs (a key of judge, decision)
AIRS --set region=mars                  | region: 'mars' is not valid
AIRS --set retries=6                    | retries: '6' is not valid
AIRS --set region=de --set scan-endpoint=https://x.example | exclude each other
AIRS --set scan-endpoint=http://a.b     | scan-endpoint: http://a.b
AIRS --set rate=nan                     | rate: 'nan'
AIRS --set rate=0                       | rate: '0'
AIRS --set rate=fast                    | rate: 'fast'
AIRS --set concurrency=0                | concurrency: '0'
AIRS --set concurrency=21               | values: a whole number from 1 to 20

check                                   | Missing argument 'TOPIC…'
check topic.yaml --threshold 0.5        | --threshold needs --prompts
check topic.yaml --set encoder=static   | --set needs --prompts
check topic.yaml --sheet S              | --sheet needs --prompts
CHECK topic.yaml                        | --prompts is for one topic
CHECK -o prompts.csv                    | it would be overwritten
CHECK -o topic.yaml                     | it would be overwritten
audit LONG                              | LONG
audit topic.yaml --prompts topic=LONG   | LONG
compare a.json                          | Missing argument 'B'
compare a.json b.json --sheet S         | need --prompts
compare topic.yaml topic.yaml --threshold 0.5 | need --prompts
compare LONG LONG                       | LONG
COMPARE allow.yaml                      | but that of allow.yaml is allow
COMPARE none.yaml                       | none.yaml: no such
COMPARE prompts.csv                     | prompts.csv
COMPARE topic.yaml -o prompts.csv       | would be
compare topic.yaml@3 topic.yaml --prompts prompts.csv | names an iteration
compare allow.yaml allow.yaml --prompts prompts.csv | prompts.csv:2 is block
compare topic.yaml topic.yaml --prompts none.csv | none.csv: no such
forecast topic.yaml                     | Missing option '--prompts'
forecast topic.yaml --prompts gone.csv  | gone.csv: no such file
forecast gone.yaml --prompts prompts.csv | gone.yaml: no such file
forecast topic.yaml --prompts prompts.csv --guardrail local | there is no guardrail 'local'
forecast topic.yaml --prompts prompts.csv -o prompts.csv | prompts.csv
REFINE --time 0                         | is not a time like 60s, 5m or 1h
REFINE --time -5                        | is not a time like 60s, 5m or 1h
REFINE --time 1d                        | is not a time like 60s, 5m or 1h
REFINE --time 25h                       | is not a time like 60s, 5m or 1h
REFINE --time nan                       | is not a time like 60s, 5m or 1h
REFINE --calls 5                        | --calls needs --experiment
REFINE --resume                         | --resume needs --experiment
REFINE --wordings a.txt                 | --wordings needs --experiment
REFINE --test-profile test              | --test-profile needs --experiment
REFINE --experiment                     | the engine is none
REFINE --experiment --guardrail airs:prod | --test-profile
EXPERIMENT                              | an experiment needs 10 that belong to the topic
EXPERIMENT --calls 0                    | --calls
EXPERIMENT --wordings none.txt          | none.txt
EXPERIMENT --single                     | --single does not fit --experiment
EXPERIMENT --time 5s                    | --time does not fit --experiment
EXPERIMENT --test-profile test          | --test-profile is for AIRS
EXPERIMENT --threshold fitted           | --threshold fitted does not fit --experiment
EXPERIMENT --resume                     | no experiment is unfinished
EXPERIMENT --resume --writer http://localhost:1/v1#m | omit --wordings and --writer
EXPERIMENT --writer http://a.b/v1       | --writer: 'http://a.b/v1' has no model
EXPERIMENT --writer http://a.b/v1#m     | --writer: http://a.b would send
EXPERIMENT --writer https://b.c/v1#m    | GUARDTUI_MODEL_KEYS=

guardrails check                        | Missing argument 'NAME'
guardrails --keys judge list            | cannot be combined
guardrails --keys other                 | is not one of
guardrails template judge -o none/x.txt | none/x.txt: no folder none
guardrails template judge -o r.json     | r.json
guardrails template decision -o r.html  | r.html
doctor --guardrail judge:m              | 'm' has no model
doctor --guardrail engine --all-regions | --all-regions is for AIRS
topics list --guardrail panel           | panel is language models that judge
export                                  | there is no session in this folder
export topic.yaml                       | no iterations are recorded
export gone.yaml                        | gone.yaml: no such file
export LONG                             | LONG
export topic.yaml -o LONG.md            | LONG
export topic.yaml --format pdf          | unknown report format 'pdf'
sample -o none/x.csv                    | none/x.csv: no folder none
convert                                 | no INPUT
convert LONG                            | LONG
convert prompts.csv -o LONG.csv         | LONG
convert none.yaml                       | none.yaml: no such file
convert topic.yaml                      | topic.yaml: the format is not recognised
convert . --from promptfoo              | is a folder
convert good.txt                        | a plain list has no labels
convert good.txt --positive bad.txt     | take the place of INPUT
convert good.txt --expected true --true x | gives every label
convert good.txt --expected true --to parquet | Parquet is binary
convert good.txt --to jsonl -o a.csv    | --to jsonl does not fit a.csv
convert good.txt --to jsonl -o a.txt    | only a file that ends in .jsonl
convert good.txt -o good.txt            | this is an input: it would be overwritten
convert --positive bad.txt --from nemo  | do not fit --from nemo
convert --positive bad.txt --true x     | --true does not fit
convert --positive bad.txt --prompt-column x | does not fit plain lists
convert --positive bad.txt:Goal         | bad.txt: a plain list has no column 'Goal'
convert --positive gone.csv:Goal        | gone.csv:Goal: no such file
convert bad.txt --unlabelled false      | --unlabelled does not fit

config set thme nord                    | did you mean 'theme'?
config unset thme                       | did you mean 'theme'?
config set theme nrd                    | did you mean 'nord'?
config set theme '\x1b[31m'             | a control character
config set theme                        | Missing argument
config set animation perhaps            | 'perhaps' is not one of full, none
config set preview_pause 5              | '5' is not a whole number from 10 to 2000
config set keys screen.keep=f3          | 'f3' is taken by screen.discard
config set keys screen.keep             | is not of the form
config chek                             | No such command
config --path check                     | --path cannot be combined with a command
new                                     | NAME, --description, --intent, --example: missing
new Tea --description Tea --intent allow | --example: missing, and there is no terminal to ask
NEW                                     | 1 example: at least 2 are needed
NEW --example b --example a             | --example 3 is the same as one before it
NEW --example b --folder gone           | gone: no such folder
NEW --example b --intent deny           | 'deny' is not one of
NEW --example '\x07'                    | --example 2 holds a control character
new '' --description Tea                | name is empty
new '\x1b]52;c;x\x07' --description Tea | NAME holds a control character ('\\x1b')
new caf\udce9 --description Tea         | NAME holds bytes that are not UTF-8
new LONG --description Tea              | name has 300 bytes, 200 more than the 100 allowed
sandbox --fault 429                     | write KIND=SHARE
sandbox --fault nonsense=1              | unknown fault 'nonsense'
sandbox --fault 429=0.6 --fault 500=0.6 | sum to 1.2
sandbox --latency 50                    | such as 50ms
sandbox --propagation soon              | not a duration
sandbox --threshold 2                   | 2.0 is not in the range 0<x<1
sandbox --encoder big                   | 'pair', 'minilm', 'static'
sandbox --port 70000                    | is not in the range
sandbox --max-batch 0                   | is not in the range
sandbox --port 0 --host nowhere.invalid | cannot be used
sandbox --port 0 --state .              | is a folder
sandbox --port 0 --state prompts.csv    | not a state of the sandbox
sandbox --port 0 --state none/s.json    | no such file

score outputs.csv                       | no scorer is named
score nowhere.csv --scorer 'match()'    | nowhere.csv
SCORE 'matsch()'                        | did you mean match?
SCORE 'match('                          | not an expression
SCORE 'match(location=__import__("os"))' | is not a value that can stand here
SCORE 'match("middle")'                 | location of match cannot be
SCORE 'pattern("(")'                    | the regular expression is broken
SCORE 'pattern(r"(a)\\2")'              | the regular expression is broken
SCORE 'model_graded_qa(grade_pattern="x")' | has no group
SCORE 'match()' --metric 'accurracy()'  | did you mean accuracy
SCORE 'match()' --metric 'stderr(cluster="x")' | 'x' in its metadata
SCORE 'match()' --metric 'regressions(baseline="input")' | the metrics of match() cannot be
SCORE 'match()' --reducer at_least      | needs a count
SCORE 'match()' --cluster nobody        | --cluster: outputs.csv has no column
SCORE 'match()' --group nobody          | --group: outputs.csv has no column
SCORE 'match()' --format xml            | 'xml' is not one of
SCORE 'match()' --output outputs.csv    | it would be overwritten
SCORE 'match()' --concurrency 0         | --concurrency
SCORE 'match()' --sample-timeout nan    | 'nan' is not a number
SCORE 'model_graded_qa()'               | needs a model that grades
SCORE 'model_graded_qa()' --model http://h | has no model
SCORE 'model_graded_qa()' --model http://h.example/v1#m | http
SCORE 'model_graded_qa(model="nix")'    | 'nix' has no model
SCORE 'model_graded_qa()' --model-role http://h/v1#m | --model-role: write NAME=URL#MODEL
SCORE 'model_graded_qa()' --model-role judge= | --model-role
SCORE 'model_graded_qa()' --model-role judge=nonsense | --model-role
"""
"""A command line, and a part of what is said of it, in each line."""


def cases() -> list[tuple[str, str]]:
    rows = [line.split("|", 1) for line in REFUSED.splitlines() if line.strip()]
    return [(line.strip(), said[1:].rstrip(" ")) for line, said in rows]


def words_of(line: str) -> list[str]:
    first, space, rest = line.partition(" ")
    name, sign, address = first.partition("#")
    full = ALIASES.get(name, name) + sign + address + space + rest
    return shlex.split(full.replace("LONG", LONG))


@pytest.fixture
def odd(folder: Path, tmp_path: Path) -> dict[str, str]:
    """Files with something wrong in them, guardrails with names, and the variables."""
    (folder / "empty.csv").write_bytes(b"")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 40)
    (folder / "label.csv").write_text("prompt,expected,intent\nx,maybe,block\n", "utf-8")
    (folder / "twice.csv").write_text("prompt,prompt,expected\na,b,true\n", "utf-8")
    (folder / "outputs.csv").write_text("input,target,output\nq,a,a\n", "utf-8")
    (folder / "bad.txt").write_text("[user]\n{topic} {prompt}\n", "utf-8")
    (folder / "good.txt").write_text("why is the sky blue\n", "utf-8")
    (folder / "allow.yaml").write_text(TOPIC.replace(": block", ": allow"), "utf-8")
    named = {"fast": {"kind": "engine"}, "prod": {"kind": "airs"}}
    named["panel"] = {"kind": "judge", "model": DEAD}
    (folder / FILE).write_text(json.dumps(named), "utf-8")
    return {
        "HOME": str(tmp_path),
        "GUARDTUI_CONFIG": str(tmp_path / "config.yaml"),
        "GUARDTUI_MODEL_KEY": "sk-one",
    }


@pytest.mark.parametrize(("line", "said"), cases(), ids=[line for line, _ in cases()])
def test_a_refused_line_exits_with_2_before_the_work(
    run: Run, folder: Path, tmp_path: Path, odd: dict[str, str], line: str, said: str
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = run(*words_of(line), **odd)
    assert (done.code, done.out) == (2, "")
    assert said.replace("LONG", LONG) in done.err
    assert "unexpectedly" not in done.err
    assert not set("\x1b\x07") & set(done.err)
    assert "sk-1" not in done.err
    assert before == {path: path.read_bytes() for path in folder.iterdir()}
    assert not (tmp_path / "config.yaml").exists()
