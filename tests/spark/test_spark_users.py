"""Other Spark users of the tables: after each statement of theirs, the next run is as without it.

The base is three published hours. Then comes the statement, and a run over two more hours, one of
which has a late correction. Each statement has one of three outcomes: the tables are those of a run
without it, the results respect what the user changed, or a step refuses with a fix.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from elsinore.errors import ElsinoreError
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from tests.homes import NewHome
from tests.lake_contents import CIRCUMSTANCES
from tests.landing_zone import departure, hours, put, run_jobs

pytestmark = [pytest.mark.spark, pytest.mark.long]

QUERY = "QUERY legs RETURN COUNT(*) PATTERN Departure D+ WITHIN 2 hours SLIDE 1 hour;"

TABLES = ("raw_events", "events", "results_staged", "results")


@dataclass(frozen=True)
class Case:
    """Statements of a user, in which a table is named `{events}`, and what is to follow.

    Attributes:
        statements: They run one after the other.
        counts: Published counts by hour that differ from those of a run without the statements;
            None if an hour has none.
        unequal: Tables whose rows are not compared.
        refused: What the message of the next run says, if a step refuses a table.
        spark_refuses: What Spark's own message says, if it refuses the last statement.
    """

    statements: tuple[str, ...]
    counts: Mapping[str, str | None] = field(default_factory=dict)
    unequal: frozenset[str] = frozenset()
    refused: str = ""
    spark_refuses: str = ""


def each(statement: str, *tables: str) -> tuple[str, ...]:
    """A statement for each of some tables, or of all."""
    return tuple(statement.replace("{}", f"{{{table}}}") for table in tables or TABLES)


def turned_on(*names: str, tables: Sequence[str] = TABLES) -> tuple[str, ...]:
    """Statements that turn on properties of some tables."""
    told = ", ".join(f"'delta.{name}' = 'true'" for name in names)
    return each(f"ALTER TABLE {{}} SET TBLPROPERTIES ({told})", *tables)


CASES = {
    "maintenance": Case((
        *each("OPTIMIZE {}"), *each("VACUUM {}"),
        "OPTIMIZE {events} ZORDER BY (event_id)",
        *each("REORG TABLE {} APPLY (PURGE)", "events", "results"),
    )),
    "constraints and comments": Case((
        "ALTER TABLE {events} ADD CONSTRAINT known CHECK (event_id IS NOT NULL)",
        "ALTER TABLE {results} ADD CONSTRAINT named CHECK (query IS NOT NULL)",
        *each("COMMENT ON TABLE {} IS 'somebody reads it'"),
    )),
    "columns": Case(each("ALTER TABLE {} ADD COLUMN (note STRING)")),
    "staged results removed": Case(
        ("TRUNCATE TABLE {results_staged}",), unequal=frozenset({"results_staged"})
    ),
    "results removed": Case(("DELETE FROM {results} WHERE window_end_hour LIKE '%T10'",)),
    "results changed": Case(("UPDATE {results} SET exact = '999'",)),
    "results restored": Case(("RESTORE TABLE {results} TO VERSION AS OF 0",)),
    "events removed": Case(
        ("DELETE FROM {events} WHERE event_id = 'd9'",),
        counts={"09": None, "10": "3"}, unequal=frozenset({"events", "results_staged", "results"}),
    ),
    "events restored": Case(("RESTORE TABLE {events} TO VERSION AS OF 0",)),
    "raw events removed": Case(("DELETE FROM {raw_events} WHERE file_hour LIKE '%T10'",)),
    "deletion vectors": Case((
        *turned_on("enableDeletionVectors"),
        "UPDATE {events} SET dep_delay = 1 WHERE event_id = 'd9'",
        "UPDATE {events} SET dep_delay = 5 WHERE event_id = 'd9'",
        "DELETE FROM {results} WHERE window_end_hour LIKE '%T10'",
    )),
    "features of writers": Case(
        turned_on("enableRowTracking", "enableInCommitTimestamps")
    ),
    "type widening": Case(turned_on("enableTypeWidening"), refused="typeWidening"),
    "checkpoints of version 2": Case(
        each("ALTER TABLE {} SET TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')")
    ),
    "append-only events": Case(turned_on("appendOnly", tables=["events"]), refused="appendOnly"),
    "renamed columns of events": Case(
        each("ALTER TABLE {} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", "events"),
        refused="columnMapping",
    ),
    "renamed columns of results": Case(
        each("ALTER TABLE {} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", "results"),
    ),
    "Iceberg's format": Case((
        "ALTER TABLE {results} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name',"
        " 'delta.enableIcebergCompatV2' = 'true',"
        " 'delta.universalFormat.enabledFormats' = 'iceberg')",
    )),
    "liquid clustering": Case(
        ("ALTER TABLE {events} CLUSTER BY (event_id)",), spark_refuses="partition"
    ),
    "tables of a catalog": Case(
        ("ALTER TABLE {events} SET TBLPROPERTIES ('delta.feature.catalogManaged' = 'supported')",),
        spark_refuses="CatalogOwned",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def base(new_spark_home: NewHome, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with three published hours."""
    workload = tmp_path_factory.mktemp("queries") / "legs.sase"
    workload.write_text(QUERY, encoding="utf-8")
    own = {"late_arrival_days": 1, "recompute_hours": 24, "workload_file": workload}
    settings = new_spark_home().model_copy(update=own)
    for hour in (9, 10, 11):
        put(settings, hour, departure(hour, hour=hour))
    run_jobs(settings, hours(9, 12), "base")
    return settings


def copied(base: Settings, home: Path) -> Settings:
    """A copy of a home."""
    shutil.copytree(base.home, home, symlinks=True)
    return base.model_copy(update={"home": home})


def run_on(settings: Settings) -> None:
    """Run the next two hours, after a late correction."""
    put(settings, 10, departure(10), departure(20, minute=30), name="-late")
    put(settings, 12, departure(12, hour=12))
    run_jobs(settings, hours(12, 14), "next")


def contents(spark: SparkSession, settings: Settings) -> dict[str, list[str]]:
    """Rows of the tables, in the columns that they are declared with, without names of runs."""
    lake = Lake.open(settings)
    found = {}
    for table in TABLES:
        columns = [name for name in lake.schema(table).columns if name not in CIRCUMSTANCES]
        rows = spark.read.format("delta").load(str(lake.path(table))).select(columns).collect()
        found[table] = sorted(map(str, rows))
    return found


def counts(spark: SparkSession, settings: Settings) -> dict[str, str]:
    """Published counts by hour."""
    path = Lake.open(settings).path("results")
    rows = spark.read.format("delta").load(str(path)).select("window_end_hour", "exact").collect()
    return {hour[-2:]: exact for hour, exact in rows}


@pytest.fixture(scope="module")
def expected(
    spark: SparkSession, base: Settings, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The contents of the tables, and published counts, of a run without any statement."""
    settings = copied(base, tmp_path_factory.mktemp("clean") / "home")
    run_on(settings)
    return contents(spark, settings), counts(spark, settings)


@pytest.mark.parametrize("name", CASES)
def test_a_run_after_statements_of_a_spark_user(
    name: str,
    spark: SparkSession,
    base: Settings,
    expected: tuple[dict[str, list[str]], dict[str, str]],
    tmp_path: Path,
) -> None:
    case, settings = CASES[name], copied(base, tmp_path / "home")
    lake = Lake.open(settings)
    paths = {table: f"delta.`{lake.path(table)}`" for table in TABLES}
    *first, last = [statement.format(**paths) for statement in case.statements]
    for statement in first:
        spark.sql(statement).collect()
    if case.spark_refuses:
        with pytest.raises(PySparkException, match=f"(?i){case.spark_refuses}"):
            spark.sql(last).collect()
    else:
        spark.sql(last).collect()
    if case.refused:
        with pytest.raises(ElsinoreError, match=case.refused) as error:
            run_on(settings)
        assert error.value.hint
        assert not error.value.transient
        return
    run_on(settings)
    rows, published = expected
    wanted = {hour: count for hour, count in {**published, **case.counts}.items() if count}
    assert counts(spark, settings) == wanted
    found = contents(spark, settings)
    for table in TABLES:
        assert table in case.unequal or found[table] == rows[table], table
