"""Features of Delta tables that delta-rs cannot handle are named, with the way to remove them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError, DeltaError

from elsinore.errors import ConflictError, DataError, ElsinoreError, SetupError
from elsinore.settings import Settings
from elsinore.store.delta_log import open_table, read_rows, write_failures
from elsinore.store.table_features import features_of
from elsinore.store.tables import Lake

ROWS = pa.table({"a": ["z"], "day": ["1"]})

#: Reader and writer features of a table, and its properties.
FEATURES: dict[str, tuple[list[str], list[str], dict[str, str]]] = {
    "deletionVectors": (["deletionVectors"], [], {"delta.enableDeletionVectors": "true"}),
    "rowTracking": ([], ["rowTracking", "domainMetadata"], {"delta.enableRowTracking": "true"}),
    "typeWidening": (["typeWidening"], [], {"delta.enableTypeWidening": "true"}),
    "inCommitTimestamp": ([], ["inCommitTimestamp"], {"delta.enableInCommitTimestamps": "true"}),
    "v2Checkpoint": (["v2Checkpoint"], [], {"delta.checkpointPolicy": "v2"}),
    "catalogManaged": (["catalogManaged"], ["inCommitTimestamp"], {}),
    "columnMapping": (["columnMapping"], [], {"delta.columnMapping.mode": "name"}),
    "identityColumns": ([], ["identityColumns"], {}),
    "clustering": ([], ["clustering", "domainMetadata"], {}),
    "checkpointProtection": ([], ["checkpointProtection"], {}),
    "appendOnly": ([], ["appendOnly"], {"delta.appendOnly": "true"}),
    "somethingNew": (["somethingNew"], [], {}),
}


def make(path: Path, reader: list[str], writer: list[str], properties: dict[str, str]) -> Path:
    """A table on which somebody has turned features on."""
    rows = pa.table({"a": ["x", "y"], "day": ["1", "2"]})
    deltalake.write_deltalake(str(path), rows, partition_by=["day"])
    log = path / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    (metadata,) = (line["metaData"] for line in first if "metaData" in line)
    protocol: dict[str, Any] = {"minReaderVersion": 3 if reader else 1, "minWriterVersion": 7}
    protocol |= {"readerFeatures": reader} if reader else {}
    actions = [
        {"commitInfo": {"operation": "SET TBLPROPERTIES", "timestamp": 1}},
        {"protocol": protocol | {"writerFeatures": [*reader, *writer]}},
        {"metaData": metadata | {"configuration": properties}},
    ]
    (log / f"{1:020}.json").write_text("\n".join(map(json.dumps, actions)) + "\n")
    return path


def overwrite(path: Path) -> None:
    with write_failures(path):
        deltalake.write_deltalake(open_table(path), ROWS, mode="overwrite", predicate="day = '1'")


def read(path: Path) -> None:
    open_table(path).dataset().to_table()
    read_rows(path.parent, path.name)


#: Features that delta-rs handles.
USABLE = ("deletionVectors", "v2Checkpoint")


@pytest.mark.parametrize("feature", USABLE)
def test_tables_with_a_known_feature_can_be_used(feature: str, tmp_path: Path) -> None:
    path = make(tmp_path / "events", *FEATURES[feature])
    read(path)
    overwrite(path)


@pytest.mark.parametrize("feature", sorted(FEATURES.keys() - {*USABLE}))
def test_a_feature_is_named_with_the_statement_that_removes_it(
    feature: str, tmp_path: Path
) -> None:
    path = make(tmp_path / "events", *FEATURES[feature])
    refused = []
    for use in (read, overwrite):
        try:
            use(path)
        except ElsinoreError as error:
            refused.append(error)
    assert refused, "neither reading nor writing was refused"
    for each in refused:
        assert isinstance(each, SetupError), each
        assert not each.transient
        assert each.fields["features"] == [feature]
        assert f"the table events uses the Delta feature {feature}, " in str(each)
        if feature in ("identityColumns", "clustering", "somethingNew"):
            assert "set ELSINORE_HOME to a new directory" in str(each.hint)
        elif feature == "appendOnly":
            assert f"ALTER TABLE delta.`{path}` UNSET TBLPROPERTIES" in str(each.hint)
        else:
            wanted = f"ALTER TABLE delta.`{path}` DROP FEATURE {feature}"
            assert wanted in str(each.hint)


def test_several_features_are_all_named() -> None:
    said = 'Unsupported table features required: [RowTracking, Unknown("x-preview"), Invariants]'
    assert features_of(said) == ["rowTracking", "x-preview"]
    assert features_of("Unsupported table features required: [DomainMetadata]") == [
        "domainMetadata"
    ]
    assert features_of("the disk is on fire") == []


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (
            "Commit failed: a concurrent transaction deleted data this operation read.",
            ConflictError,
        ),
        ("Metadata changed since last commit.", ConflictError),
        ("Tried committing existing table version: 3", ConflictError),
        ("Failed to commit transaction: 15", ConflictError),
        ("No metadata found, please make sure table is loaded.", DataError),
        ("Unsupported table features required: [RowTracking]", SetupError),
    ],
)
def test_only_other_writers_are_conflicts(said: str, kind: type[ElsinoreError]) -> None:
    with pytest.raises(kind) as caught, write_failures("events"):
        raise CommitFailedError(said)
    assert caught.value.transient is (kind is ConflictError)


def test_two_real_writers_are_a_conflict(tmp_path: Path) -> None:
    path = tmp_path / "events"
    deltalake.write_deltalake(str(path), ROWS)
    one, other = deltalake.DeltaTable(str(path)), deltalake.DeltaTable(str(path))
    once = deltalake.CommitProperties(max_commit_retries=0)
    one.delete("a = 'z'")
    said = "another writer changed the table events"
    with pytest.raises(ConflictError, match=said), write_failures(path):
        deltalake.write_deltalake(other, ROWS, mode="overwrite", commit_properties=once)


def test_what_is_no_feature_is_raised_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(DeltaError, match="something else"), write_failures(tmp_path):
        raise DeltaError("something else")


def add_column(path: Path, name: str) -> None:
    """ALTER TABLE ... ADD COLUMN, as Spark commits it."""
    table = deltalake.DeltaTable(str(path))
    deltalake.DeltaTable(str(path)).alter.add_columns(
        [deltalake.Field(name, deltalake.schema.PrimitiveType("string"))]
    )
    commit = path / "_delta_log" / f"{table.version() + 1:020}.json"
    commit.write_text(commit.read_text().replace('"ADD COLUMN"', '"ADD COLUMNS"'))


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Lake]:
    """Opens a new lake of flights."""
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path))
    Lake.open(settings := Settings.load()).create_records()
    return lambda: Lake.open(settings)


def test_a_column_of_a_user_is_named_with_the_way_back(lake: Callable[[], Lake]) -> None:
    path = lake().path("plans")
    assert isinstance(path, Path)
    version = deltalake.DeltaTable(str(path)).version()
    add_column(path, "comment")
    add_column(path, "checked_by")
    with pytest.raises(SetupError) as caught:
        lake().create_records()
    assert str(caught.value) == (
        "the table plans differs from its declaration: the schema does not declare its column "
        "checked_by "
        "(string); the schema does not declare its column comment (string) (run in Spark: "
        f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {version})"
    )
    deltalake.DeltaTable(str(path)).restore(version)
    lake().create_records()
