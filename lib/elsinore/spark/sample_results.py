"""Draws from the staged results, by query, by size and by hour; without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import log2

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.spark.aggregate_origin import STAGED
from elsinore.spark.regions import Hours
from elsinore.spark.tables import Lake

#: Sizes are told apart by how many times 4 bits their count of trends takes.
_BITS = 4

#: Beyond these, results are of one class: the engine adds them up in machine words, in pairs of
#: them, and in rows of them.
_WORDS = (63, 127)

#: A trend takes a step for each of its events and for each event tried.
_STEPS_PER_TREND_LOG2 = 3

_UNKNOWN, _BEYOND = -1, 1_000

#: A result's place; it has one row for each of its aggregates.
_KEY = ["owned_hour", "query", "query_fingerprint", "group_key", "window_start"]


@dataclass(frozen=True, slots=True)
class StagedResult:
    """One result as it is staged; `window_start` in microseconds.

    Attributes:
        stratum: its class of size.
        beyond: whether its count shows more trends than the reference may enumerate.
    """

    query: str
    group_key: str
    window_start: int
    stratum: int

    @property
    def beyond(self) -> bool:
        """Whether it has more trends than can be built one by one."""
        return self.stratum >= _BEYOND


@dataclass(frozen=True, slots=True)
class Population:
    """The results that can be drawn: how many by query and class of size."""

    strata: dict[tuple[str, int], int]

    @property
    def results(self) -> int:
        """All results."""
        return sum(self.strata.values())

    @property
    def beyond(self) -> int:
        """Those with more trends than can be built one by one."""
        return sum(number for (_, size), number in self.strata.items() if size >= _BEYOND)

    def by_query(self) -> dict[str, int]:
        """Results by query."""
        found: dict[str, int] = {}
        for (query, _), number in sorted(self.strata.items()):
            found[query] = found.get(query, 0) + number
        return found


def read_results(lake: Lake, hours: Hours, version: int, steps: int) -> pd.DataFrame:
    """One row for each staged result of some hours: its place and its stratum, and no values.

    Read a day at a time; texts are kept once each.

    Args:
        lake: the tables.
        hours: whose results.
        version: of the staged results.
        steps: what the reference may take to build the trends of a result.
    """
    staged = lake.dataset(STAGED, version)
    names = [*_KEY, "aggregate", "log2"]
    days = [_sized(staged.schema.empty_table(), steps)]
    days += [_sized(rows, steps) for rows in hours.rows_by_day(staged, names)]
    frame: pd.DataFrame = pa.concat_tables(days).unify_dictionaries().to_pandas()
    return frame


def sample_results(results: pd.DataFrame, seed: str, count: int) -> list[StagedResult]:
    """At most `count` of the results of `read_results`, in an order that only the seed decides.

    Queries take turns; in each query the sizes of its results do; in each size the hours. Where
    there are no more than `count` results, these are all of them.
    """
    ranked = results.assign(rank=seeded_hashes(seed, results["name"])).sort_values("rank")
    for within in (["query", "stratum", "owned_hour"], ["query", "stratum"], ["query"]):
        turn = ranked.groupby(within, observed=True).cumcount()
        ranked = ranked.assign(turn=turn).sort_values(["turn", "rank"])
    drawn = ranked.head(count)
    places = (drawn[name] for name in ("query", "group_key", "window_start", "stratum"))
    return [StagedResult(*place) for place in zip(*(p.tolist() for p in places), strict=True)]


def population(results: pd.DataFrame) -> Population:
    """What there is to draw from."""
    counts = results.groupby(["query", "stratum"], observed=True).size()
    return Population({(str(query), int(size)): int(n) for (query, size), n in counts.items()})


def seeded_hashes(seed: str, texts: Sequence[str] | pd.Series) -> np.ndarray:
    """A number for each text, by which to put them in an order that only the seed decides."""
    key = sha256(seed.encode()).hexdigest()[:16]
    return pd.util.hash_array(np.asarray(texts, dtype=object), hash_key=key, categorize=False)


def _sized(staged: pa.Table, steps: int) -> pa.Table:
    """The rows of a day as results, one row for each."""
    nothing = pa.scalar(None, pa.float64())
    for name, counts in (
        ("trends", pc.equal(staged["aggregate"], "COUNT(*)")),
        ("counts", pc.starts_with(staged["aggregate"], "COUNT(")),
    ):
        staged = staged.append_column(name, pc.if_else(counts, staged["log2"], nothing))
    found = staged.group_by(_KEY).aggregate([("trends", "max"), ("counts", "max")])
    size = pc.coalesce(found["trends_max"], found["counts_max"])
    start = found["window_start"].cast(pa.int64())
    named = [found["query_fingerprint"], found["group_key"], start.cast(pa.string())]
    columns = {name: found[name].dictionary_encode() for name in _KEY[:-1]}
    columns |= {
        "window_start": start,
        "stratum": pa.array(_strata(size.to_numpy(zero_copy_only=False), steps)),
        "name": pc.binary_join_element_wise(*named, " "),
    }
    return pa.table(columns)


def _strata(size: np.ndarray, steps: int) -> np.ndarray:
    """Classes of sizes in bits; NaN where a result has no count."""
    words = sum((size >= bits).astype(int) for bits in _WORDS)
    small = np.nan_to_num(np.floor(size / _BITS))
    beyond = size > log2(steps) - _STEPS_PER_TREND_LOG2
    known = np.where(beyond, _BEYOND + words, small)
    return np.where(np.isnan(size), _UNKNOWN, known).astype(np.int64)
