"""Shards evaluated apart come to exactly what one evaluation of all gives."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import metrics_by_group
from guardtui.domain.verdicts import Outcome, Triggered, Verdicts
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.executors import make_executor
from guardtui.shards.large_set import LargeSet, cut
from guardtui.shards.merge import IncompleteError, Merged, merge
from guardtui.shards.parts import Run, open_run, runs_of, write_part
from guardtui.shards.shard import Shard, ShardError
from guardtui.shards.vectors import stored_vectors
from guardtui.shards.work import ShardJob
from tests.guardrails import other_settings
from tests.shards.conftest import TOPIC, write_prompts


def evaluated(source: Path, folder: Path, count: int, executor: str = "serial") -> Merged:
    large = cut(source, folder, count)
    assert large is not None
    job = ShardJob(folder, TOPIC, "static")
    landed = list(make_executor(executor, 2).run(job, large.all_shards()))
    assert sorted(one.shard for one in landed) == large.all_shards()
    merged = merge(job.worker().run)
    merged.write()
    return merged


def said(merged: Merged) -> tuple[bytes, object]:
    """All that a merged run says."""
    evaluation = merged.evaluation
    columns = [evaluation.keys, evaluation.expected, evaluation.codes]
    verdicts = evaluation.verdicts
    columns += [verdicts.triggered, verdicts.score, verdicts.matched, *merged.sorted_scores()]
    rows = merged.wrong_rows()
    return (
        (merged.run.folder / "merged.json").read_bytes()
        + b"".join(column.tobytes() for column in columns),
        rows.rows(),
    )


@pytest.mark.process
def test_seven_shards_equal_one_to_the_byte(source: Path, tmp_path: Path) -> None:
    one = said(evaluated(source, tmp_path / "one", 1))
    assert said(evaluated(source, tmp_path / "seven", 7)) == one
    assert said(evaluated(source, tmp_path / "processes", 7, "processes")) == one


def test_merge_equals_the_evaluation_of_the_whole_file(tmp_path: Path) -> None:
    source = write_prompts(tmp_path / "many.csv", 3000)
    merged, prompts = evaluated(source, tmp_path / "set", 5), load_prompts(source)
    scanner = LocalScanner("static", cache=tmp_path / "cache")
    verdicts = scanner.scan_now(TOPIC, prompts, lambda progress: None)
    assert verdicts is not None
    whole = Evaluation(
        TOPIC,
        scanner.settings,
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        verdicts,
    )
    result = merged.evaluation
    assert result.metrics == Evaluation.metrics.func(result)  # type: ignore[attr-defined]
    assert (result.prompt_set, result.settings) == (whole.prompt_set, whole.settings)
    np.testing.assert_array_equal(result.keys, whole.keys)
    np.testing.assert_array_equal(result.expected, whole.expected)
    np.testing.assert_array_equal(result.verdicts.score, whole.verdicts.score)
    np.testing.assert_array_equal(result.verdicts.matched, whole.verdicts.matched)
    np.testing.assert_array_equal(result.codes, whole.codes)
    comparison = compare(whole, result)
    assert comparison.added == comparison.removed == 0


def test_merge_counts_by_category_and_lists_wrong_rows(source: Path, tmp_path: Path) -> None:
    merged, prompts = evaluated(source, tmp_path / "set", 4), load_prompts(source)
    result = merged.evaluation
    groups, names = prompts.groups("category")
    assert merged.by_category == metrics_by_group(result.codes, groups, names)
    wrong = merged.wrong_rows()
    positions = np.flatnonzero(result.codes >= Outcome.FP)
    assert len(positions)
    columns = [name for name in prompts.frame.columns if name in wrong.columns]
    assert {"prompt", "expected", "line"} <= set(columns)
    assert wrong[columns].equals(prompts.frame[columns][positions])
    should, other = merged.sorted_scores()
    for scores, mine in ((should, prompts.expected), (other, ~prompts.expected)):
        np.testing.assert_array_equal(scores, np.sort(result.verdicts.score[mine]))


def test_finished_shards_are_not_repeated(source: Path, tmp_path: Path) -> None:
    merged = evaluated(source, tmp_path / "set", 3)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "set").rglob("*.*")}
    worker = ShardJob(tmp_path / "set", TOPIC, "static").worker()
    for shard in merged.run.large.all_shards():
        assert worker.evaluate(shard) == merged.manifests[shard.index]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "set").rglob("*.*")} == before


def test_edit_creates_another_run_with_the_same_vectors(source: Path, tmp_path: Path) -> None:
    first = evaluated(source, tmp_path / "set", 2)
    vectors = {path: path.stat().st_mtime_ns for path in (tmp_path / "set").glob("vectors-*/*")}
    edited = TOPIC.model_copy(update={"description": "The weather and soups"})
    worker = ShardJob(tmp_path / "set", edited, "static").worker()
    for shard in first.run.large.all_shards():
        worker.evaluate(shard)
    assert {path: path.stat().st_mtime_ns for path in vectors} == vectors
    assert {one.id for one in runs_of(first.run.large)} == {first.run.id, worker.run.id}
    assert open_run(first.run.large, worker.run.id).topic == edited
    comparison = compare(first.evaluation, merge(worker.run).evaluation)
    assert comparison.regressions


def test_run_of_another_version_is_refused(source: Path, tmp_path: Path) -> None:
    merged = evaluated(source, tmp_path / "set", 2)
    path = merged.run.folder / "run.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, "schema_version": 2}), encoding="utf-8")
    with pytest.raises(FileError, match="it has schema version 2, supported is 1"):
        runs_of(merged.run.large)


def test_missing_shards_error_names_the_command(source: Path, tmp_path: Path) -> None:
    merged = evaluated(source, tmp_path / "set", 6)
    for index in (1, 2, 5):
        merged.run.path(Shard(index, 6), ".json").unlink()
    with pytest.raises(IncompleteError, match=r"3 of 6 shards are missing: 1-2, 5\n.*--shard 1/6"):
        merge(merged.run)


def test_parts_of_other_runs_are_rejected(source: Path, tmp_path: Path) -> None:
    merged = evaluated(source, tmp_path / "set", 3)
    first, second = (merged.run.path(Shard(index, 3), ".json") for index in (0, 1))
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    with pytest.raises(ShardError, match="of another run or shard"):
        merge(merged.run)
    manifest = json.loads(kept)
    first.write_text(json.dumps({**manifest, "run": "0" * 12}), encoding="utf-8")
    with pytest.raises(ShardError, match="of another run or shard"):
        merge(merged.run)
    first.write_text(json.dumps({**manifest, "rows": manifest["rows"] + 1}), encoding="utf-8")
    with pytest.raises(ShardError, match="hold 121 prompts and count 120"):
        merge(merged.run)
    first.write_text(json.dumps({**manifest, "schema_version": 99}), encoding="utf-8")
    with pytest.raises(FileError, match="it has schema version 99"):
        merge(merged.run)
    first.write_text("{", encoding="utf-8")
    with pytest.raises(FileError, match="not a manifest"):
        merge(merged.run)
    first.write_bytes(kept)
    part = merged.run.path(Shard(0, 3), ".parquet")
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(ShardError, match="not as its manifest says"):
        merge(merged.run)


def test_rows_without_a_verdict_are_counted_and_listed(source: Path, tmp_path: Path) -> None:
    large = cut(source, tmp_path / "set", 2)
    assert isinstance(large, LargeSet)
    run = Run(large, TOPIC, other_settings("judge", "stub-1"))
    run.begin()
    for shard in large.all_shards():
        frame = large.read_rows(shard)
        triggered = np.full(frame.height, Triggered.YES, np.int8)
        triggered[:2] = Triggered.NO_VERDICT
        nothing = np.full(frame.height, np.nan, np.float32)
        verdicts = Verdicts(
            triggered,
            nothing,
            np.full(frame.height, -1, np.int16),
            errors={0: "timeout", 1: "refused"},
            reasons={3: "because"},
        )
        keys, expected = frame["key"].to_numpy(), frame["expected"].to_numpy()
        evaluation = Evaluation(TOPIC, run.settings, large.fingerprint, keys, expected, verdicts)
        write_part(run, shard, frame["row"].to_numpy(), None, evaluation, {})
    merged = merge(run)
    assert merged.metrics.errors == 4
    assert merged.metrics.total == 116
    verdicts = merged.evaluation.verdicts
    assert sorted(verdicts.errors.values()) == ["refused", "refused", "timeout", "timeout"]
    assert (verdicts.triggered[list(verdicts.errors)] == Triggered.NO_VERDICT).all()
    assert [len(scores) for scores in merged.sorted_scores()] == [0, 0]


def test_evaluation_can_be_sent_to_another_process(source: Path, tmp_path: Path) -> None:
    evaluation = evaluated(source, tmp_path / "set", 3).evaluation
    there = pickle.loads(pickle.dumps(evaluation))
    assert there.metrics == evaluation.metrics
    assert there.codes.tolist() == evaluation.codes.tolist()


def test_wrong_rows_can_be_limited_by_shards_and_columns(source: Path, tmp_path: Path) -> None:
    merged = evaluated(source, tmp_path / "set", 3)
    every = merged.wrong_rows()
    some = merged.wrong_rows(["row", "prompt"], most=1)
    assert some.columns == ["row", "prompt"]
    assert 0 < some.height < every.height
    assert some.height == merged.manifests[0].metrics.fp + merged.manifests[0].metrics.fn
    assert set(some["row"]) < set(every["row"])


@pytest.mark.parametrize("ending", [".parquet", ".wrong.parquet"])
@pytest.mark.parametrize("place", [0.1, 0.5])
def test_part_changed_in_place_is_rejected(
    source: Path, tmp_path: Path, ending: str, place: float
) -> None:
    merged = evaluated(source, tmp_path / "set", 3)
    path = merged.run.path(Shard(1, 3), ending)
    if ending == ".parquet":
        data = bytearray(path.read_bytes())
        data[int(len(data) * place)] ^= 0xFF
        path.write_bytes(data)
    else:  # as that of another part, which may be as large
        path.write_bytes(merged.run.path(Shard(0, 3), ending).read_bytes())
    with pytest.raises(FileError, match=r"00001-of-00003.*\n  remove the part's \.json file"):
        _ = merged.evaluation.keys


@pytest.mark.parametrize("ending", [".values.npy", ".terms.npy"])
def test_vectors_of_other_prompts_are_recomputed(source: Path, tmp_path: Path, ending: str) -> None:
    wanted = said(evaluated(source, tmp_path / "wanted", 3))
    large = cut(source, tmp_path / "set", 3)
    assert large is not None
    scanner = LocalScanner("static")
    shards = large.all_shards()
    keys = [large.read_rows(shard)["key"].to_numpy() for shard in shards]
    for shard, key in zip(shards, keys, strict=True):
        assert stored_vectors(large, shard, scanner, key) is not None
    (folder,) = large.folder.glob("vectors-*")
    path = folder / f"{shards[0].name}{ending}"
    held = np.load(path)
    # Of the same shape, as another shard's may be.
    np.save(path, held[::-1] if ending == ".values.npy" else held[:, ::-1])
    assert said(evaluated(source, tmp_path / "set", 3)) == wanted


def test_category_named_like_the_placeholder_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text(
        "prompt,expected,intent,category\na,true,block,(none)\nb,no,block,\nc,no,block,x\n", "utf-8"
    )
    merged = evaluated(path, tmp_path / "set", 2)
    assert {name: one.total for name, one in merged.by_category.items()} == {"(none)": 2, "x": 1}


def test_suggested_command_is_quoted_for_a_shell(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    merged = evaluated(source, folder, 3)
    merged.run.path(Shard(1, 3), ".json").unlink()
    with pytest.raises(IncompleteError, match=f"--prompts '{folder}' --out '{folder}' --shard 1/3"):
        merge(merged.run)
    merged.run.large.rows_path(Shard(1, 3)).unlink()
    with pytest.raises(FileError, match=f"--prompts prompts.csv --out '{folder}'"):
        merged.run.large.require_rows()


def test_viewing_a_run_does_not_modify_it(source: Path, tmp_path: Path) -> None:
    first = evaluated(source, tmp_path / "set", 2)
    edited = TOPIC.model_copy(update={"description": "The weather and soups"})
    worker = ShardJob(tmp_path / "set", edited, "static").worker()
    for shard in first.run.large.all_shards():
        worker.evaluate(shard)
    merge(worker.run).write()
    os.utime(worker.run.folder, (2e9, 2e9))
    merge(first.run).write()
    assert runs_of(first.run.large)[-1].id == worker.run.id
    before = first.run.folder.stat().st_mtime_ns
    merge(first.run).write()
    assert first.run.folder.stat().st_mtime_ns == before
    # What is not the sum, as after a version that told less, is written anew.
    (first.run.folder / "merged.json").write_text("{}", "utf-8")
    merge(first.run).write()
    assert json.loads((first.run.folder / "merged.json").read_text("utf-8"))["rows"] == 120
