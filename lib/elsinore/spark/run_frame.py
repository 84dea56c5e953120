"""Run a workload over a Spark DataFrame of raw events, without a lake."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.events import TIME_COLUMN
from elsinore.executors.plan import compile_plan
from elsinore.files.read_lines import column_problem
from elsinore.files.records import ArrowRecords, first_name
from elsinore.files.type_records import decoded_schema, type_records
from elsinore.library.arguments import require_share, require_whole
from elsinore.library.workload import Workload
from elsinore.renamed import renamed_parameters
from elsinore.results.task_rows import TASK_COUNTS
from elsinore.spark.aggregate_worker import Batches, Task
from elsinore.spark.partitions import aggregate_partitions
from elsinore.spark.probe import require_same_elsinore
from elsinore.template.support import require

_POSITION, _REASON = "record_number", "reason"


@renamed_parameters(max_bad_share="max_error_rate")
def run(
    workload: Workload, df: DataFrame, *, max_error_rate: float = 0.05, parts: int | None = None
) -> DataFrame:
    """Return the results of a workload over a Spark DataFrame of raw events.

    It works with classic Spark and with Spark Connect. The Python workers need elsinore installed.
    Spark distributes events by the keys of each query. If a query has no key that all its types
    have, one task evaluates it. Spark reads `df` once for each set of keys, and once more if
    `max_error_rate` is below 1. Persist `df` if reading it is expensive.

    Args:
        workload: The queries.
        df: The events, with a column for each field of the schema. If several rows have the same
            id, the last one by partition and row wins.
        max_error_rate: Share of invalid rows above which the call fails, 0 to 1. Results leave
            invalid rows out.
        parts: Maximum number of tasks. None: the value of `spark.sql.shuffle.partitions`.

    Returns:
        A DataFrame with one row per aggregate. Its columns are `query`, `group` (a JSON object),
            `window_start`, `window_end` (timestamps, or integers if the stream's times are),
            `step` (NULL unless the query returns steps), `aggregate`, `type`, `value` (the nearest
            double) and `exact` (all digits of an integer, otherwise NULL).

    Raises:
        UnsupportedQueryError: Only twostep can run one of the queries.
        DataError: Too many rows are invalid, or a column is missing.
        ParameterError: `max_error_rate` or `parts` is invalid.
        SetupError: The Python workers lack elsinore, or have another version.
    """
    require_share("max_error_rate", max_error_rate)
    if parts is not None:
        require_whole("parts", parts, 1)
    bound, schema = workload.bound, workload.schema
    require(bound.queries, "the pipeline")
    if problem := column_problem(df.columns, schema, nested=True):
        raise DataError(f"the DataFrame: {problem[0]}", hint=problem[1])
    require_same_elsinore(df.sparkSession)
    decoded = _decoded(df, schema)
    if max_error_rate < 1:
        _require_few_bad(decoded, max_error_rate)
    events = decoded.where(F.col(_REASON).isNull())
    if schema.id_field is not None:  # the last row of an id wins, as in files
        time = F.col(TIME_COLUMN)
        span = F.lit(0) if schema.id_span is None else time - F.pmod(time, F.lit(schema.id_span))
        same = Window.partitionBy("event_id", span)
        events = events.withColumn("last", F.max(_POSITION).over(same))
        events = events.where(F.col(_POSITION) == F.col("last"))

    parts = parts or int(str(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    rows = aggregate_partitions(bound, compile_plan(bound), events, parts=parts)
    calendar = schema.time_unit.is_calendar
    bounds = [
        F.timestamp_micros(name).alias(name) if calendar else F.col(name)
        for name in ("window_start", "window_end")
    ]
    named = F.col("group_key").alias("group")
    results = rows.where(F.col(TASK_COUNTS).isNull())
    return results.select("query", named, *bounds, "step", "aggregate", "type", "value", "exact")


def _decoded(frame: DataFrame, schema: StreamSchema) -> DataFrame:
    """Return typed events with their positions, and invalid rows with the reason."""
    raw = [*schema.raw_needed, *(field for field, _ in schema.raw_attributes)]
    wanted = {first_name(field, frame.columns) for field in raw}
    # Columns are renamed by position: names can contain dots, and Spark may ignore their case.
    named = {f"c{n}": name for n, name in enumerate(frame.columns)}
    fields = {place: name for place, name in named.items() if name in wanted}
    numbered = frame.toDF(*named).select(*fields, F.monotonically_increasing_id().alias(_POSITION))
    task = _decoding(schema, [*fields.values()])
    return numbered.mapInArrow(task, from_arrow_schema(_decoded_rows(schema)))


def _decoded_rows(schema: StreamSchema) -> pa.Schema:
    fields = [field.with_nullable(True) for field in decoded_schema(schema) if field.name != "file"]
    return pa.schema([*fields, pa.field(_REASON, pa.string())])


def _decoding(schema: StreamSchema, names: list[str]) -> Task:
    """Return a task function that decodes rows with the named columns like rows of files."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        rows = _decoded_rows(schema)
        for batch in batches:
            table = pa.Table.from_batches([batch])
            label = pa.repeat("DataFrame", table.num_rows)
            where = pa.table({"file": label, _POSITION: table[_POSITION]})
            fields = table.drop([_POSITION]).rename_columns(names)
            records = ArrowRecords(fields, quoted=schema.quoted_numbers)
            decoded = type_records(records, where, {}, schema)
            events = decoded.events.drop(["file"])
            bad = decoded.rejected.select([_POSITION, _REASON])
            together = pa.concat_tables([events, bad], promote_options="default")
            yield from together.select(rows.names).cast(rows).to_batches()

    return task


def _require_few_bad(decoded: DataFrame, allowed: float) -> None:
    counted = decoded.agg(F.count(_REASON), F.count(F.lit(1)), F.first(_REASON, ignorenulls=True))
    bad, rows, reason = counted.collect()[0]
    if rows and bad / rows > allowed:
        raise DataError(
            f"{bad} of {rows} rows are invalid, more than the allowed share of {allowed:g}; "
            f"for example: {reason}",
            hint="correct the rows, or pass a larger max_error_rate",
        )
