"""`grouped`: a metric for each value of a key of the samples' metadata."""

from __future__ import annotations

import math
from typing import Any, Literal

from guardtui.scorer.decorators import metric as register
from guardtui.scorer.types import DEFAULT_TO_FLOAT, Metric, SampleScore, Value, ValueToFloat


@register
def grouped(
    metric: Metric,
    group_key: str,
    *,
    all: Literal["samples", "groups", False] = "samples",  # noqa: A002
    all_label: str = "all",
    value_to_float: ValueToFloat = DEFAULT_TO_FLOAT,
    name_template: str = "{group_name}",
) -> Metric:
    """Return the metric over the scores of each value of a key of the samples' metadata.

    `all` adds the metric over all samples, or the mean of the groups' values, as `all_label`. While
    measuring, raises ValueError for a sample without that key, and for a group with the name
    `all_label`.
    """
    call: Any = metric

    def measure(scores: list[SampleScore]) -> Value:
        if not scores:
            return {all_label: math.nan} if all else {}
        groups: dict[str, list[SampleScore]] = {}
        for sample in scores:
            metadata = sample.sample_metadata or {}
            if group_key not in metadata:
                raise ValueError(
                    f"sample {sample.sample_id!r} has no {group_key!r} in its metadata"
                )
            groups.setdefault(str(metadata[group_key]), []).append(sample)
        values = {
            name_template.format(group_name=name): call(members) for name, members in groups.items()
        }
        if not all:
            return values
        if all_label in values:
            raise ValueError(
                f"a group has the name {all_label!r}, which is that of all samples: name another "
                "all_label, or all=False"
            )
        if all == "samples":
            return {**values, all_label: call(scores)}
        numbers = [value_to_float(value) for value in values.values()]
        return {**values, all_label: sum(numbers) / len(numbers)}

    return measure
