"""Schemas from YAML: the specification's example, and faults and traps of YAML.

Those that people meet are in `cli/test_mistakes`, costly ones in `hostile/test_hostile_yaml`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.catalog.load_schema import load_schema, read_schema
from elsinore.catalog.stream import Attribute, AttributeType, Buckets, EventType, StreamSchema
from elsinore.errors import SchemaError
from elsinore.renamed import RenamedWarning
from elsinore.timeline import DAY, HOUR, TimeUnit

RIDES = """\
stream: rides
time: {field: time, unit: iso}        # iso | s | ms | us | integer (ticks of no unit)
type: {field: type}
id: {field: id}                       # optional: unique event id
types:
  Request: {driver: string, rider: string, kind: {type: string, nullable: true, allowed: [Pool, Single]}}
  Travel: {driver: string, rider: string, district: string, speed: {type: double, min: 0}}
"""  # noqa: E501  (as in the specification)

HEAD = "stream: s\ntime: {field: t, unit: us}\ntype: {field: k}\ntypes:\n"


def load(tmp_path: Path, text: str) -> StreamSchema:
    path = tmp_path / "schema.yaml"
    path.write_text(text)
    return load_schema(path)


def refusal(tmp_path: Path, text: str) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        load(tmp_path, text)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("bounds", "late", "early"),
    [
        ("", 365 * DAY, DAY // 24),
        (", allowed_lateness: 2 days, max_clock_skew: 90 minutes", 2 * DAY, DAY // 16),
        (", allowed_lateness: 0 hours", 0, DAY // 24),
    ],
)
def test_how_far_an_event_may_lie_from_its_landing(
    tmp_path: Path, bounds: str, late: int, early: int
) -> None:
    schema = load(tmp_path, HEAD.replace("unit: us", f"unit: us{bounds}") + "  A: {}\n")
    assert (schema.allowed_lateness, schema.max_clock_skew) == (late, early)


@pytest.mark.parametrize("late", ["2 fortnights", "-1 days", "3", "100000 days", "[1]"])
def test_a_distance_that_is_no_duration_is_refused(tmp_path: Path, late: str) -> None:
    text = HEAD.replace("unit: us", f"unit: us, allowed_lateness: {late}") + "  A: {}\n"
    assert "not a duration" in str(refusal(tmp_path, text))


def test_records_of_an_id_are_ordered_in_one_way(tmp_path: Path) -> None:
    version = load(tmp_path, RIDES.replace("{field: id}", "{field: id, version: updated_at}"))
    assert (version.version_field, version.by_modification) == ("updated_at", False)
    modified = load(tmp_path, RIDES.replace("{field: id}", "{field: id, order: modified}"))
    assert (modified.version_field, modified.by_modification) == (None, True)
    both = RIDES.replace("{field: id}", "{field: id, version: v, order: modified}")
    assert "version and order exclude each other" in str(refusal(tmp_path, both))


def test_ids_may_be_unique_within_a_span_of_time_alone(tmp_path: Path) -> None:
    spans = {}
    for within in ("", ", unique_within: day", ", unique_within: hour"):
        text = RIDES.replace("id: {field: id}", f"id: {{field: id{within}}}")
        spans[within[17:]] = load(tmp_path, text).id_span
    assert spans == {"": None, "day": DAY, "hour": HOUR}
    week = RIDES.replace("id: {field: id}", "id: {field: id, unique_within: week}")
    assert "id.unique_within: " in str(refusal(tmp_path, week))
    ticks = week.replace("unit: iso", "unit: integer").replace("week", "day")
    assert "id: unique_within needs a calendar time" in str(refusal(tmp_path, ticks))


def test_buckets_are_by_attributes(tmp_path: Path) -> None:
    schema = load(tmp_path, HEAD + "  A: {x: long}\nbuckets: {by: [x], number: 16}\n")
    assert schema.buckets == Buckets(("x",), 16)
    assert str(schema.buckets) == "16 buckets by x"


def test_the_example_of_the_specification(tmp_path: Path) -> None:
    string = AttributeType.STRING
    assert load(tmp_path, RIDES) == StreamSchema(
        "rides",
        "time",
        TimeUnit.ISO,
        "type",
        "id",
        (
            EventType(
                "Request",
                (
                    Attribute("driver", string),
                    Attribute("rider", string),
                    Attribute("kind", string, nullable=True, allowed=("Pool", "Single")),
                ),
            ),
            EventType(
                "Travel",
                (
                    Attribute("driver", string),
                    Attribute("rider", string),
                    Attribute("district", string),
                    Attribute("speed", AttributeType.DOUBLE, minimum=0.0),
                ),
            ),
        ),
    )


def test_no_id_types_without_attributes_and_limits_of_timestamps(tmp_path: Path) -> None:
    schema = load(tmp_path, HEAD + "  A:\n  B: {at: {type: timestamp, min: '1970-01-02'}}\n")
    assert schema.id_field is None
    assert schema.by_name["A"].attributes == ()
    assert schema.by_name["B"].by_name["at"].minimum == DAY


@pytest.mark.parametrize("types", ["types: {A: {}, B: {}}", "unknown_types: skip\ntypes: {A: {}}"])
def test_type_may_be_left_out_of_a_schema_with_one_type_only(tmp_path: Path, types: str) -> None:
    head = "stream: s\ntime: {field: t, unit: us}\n"
    assert load(tmp_path, f"{head}types: {{A: {{}}}}").type_field is None
    assert "type may be left out only if" in str(refusal(tmp_path, head + types))


@pytest.mark.parametrize(
    ("title", "types", "message"),
    [
        ("min of another type", "  A: {x: {type: long, min: 1.5}}", "1.5 is not a long"),
        ("min is a boolean", "  A: {x: {type: long, min: true}}", "true is not a long"),
        ("min beyond 64 bits", "  A: {x: {type: long, min: 9223372036854775808}}", "is not a long"),
        ("min is not a number", "  A: {x: {type: double, min: .nan}}", "nan is not a double"),
        ("min is too large", f"  A: {{x: {{type: double, min: {10**400}}}}}", "is not a double"),
        ("min is no instant", "  A: {x: {type: timestamp, min: noon}}", "not an ISO 8601"),
        ("allowed of another type", "  A: {x: {type: string, allowed: [NO]}}", "not a string"),
        ("name with underscore first", "  A: {_time: long}", "types.A._time"),
        ("buckets", "  A: {x: long}\nbuckets: {by: [y], number: 4}", "no type has an attribute y"),
        ("one bucket", "  A: {x: long}\nbuckets: {by: [x], number: 1}", "buckets.number"),
        ("case alone", "  A: {speed: long}\n  B: {Speed: long}", "differ only by case"),
    ],
)
def test_faults_are_named(tmp_path: Path, title: str, types: str, message: str) -> None:
    assert message in str(refusal(tmp_path, HEAD + types + "\n")), title


@pytest.mark.parametrize(
    "name",
    [
        "event_day",
        "event_bucket",
        "event_id",
        "event_type",
        "event_time",
        "file_hour",
        "file",
        "record_number",
        "File",
    ],
)
def test_names_of_columns_are_reserved(tmp_path: Path, name: str) -> None:
    error = refusal(tmp_path, HEAD + f"  A: {{{name}: string}}\n")
    assert f"A.{name}: the name is reserved" in str(error)


def test_all_reserved_names_are_listed_at_once(tmp_path: Path) -> None:
    text = str(refusal(tmp_path, HEAD + "  A: {file: string}\n  B: {file_hour: string}\n"))
    assert "A.file" in text
    assert "B.file_hour" in text


def test_every_fault_is_listed(tmp_path: Path) -> None:
    error = refusal(tmp_path, "stream: 1s\ntime: {field: t, unit: ns}\ntypes: {A: {x: int}}\n")
    places = [diagnostic.message.split(":")[0] for diagnostic in error.diagnostics]
    assert places == ["stream", "time.unit", "types.A.x"]
    assert str(error).endswith("(and 2 more)")


@pytest.mark.parametrize("text", ["", "[]", "just text", "42"])
def test_a_schema_is_a_mapping(tmp_path: Path, text: str) -> None:
    assert "a schema must be a mapping" in str(refusal(tmp_path, text))


@pytest.mark.parametrize(
    ("title", "text", "where", "message"),
    [
        ("a call", "stream: !!python/object/apply:os.getcwd []\n", "1:9", "tag"),
        ("a number without digits", 'stream: !!int ""\n', "1:9", "is not allowed (remove it)"),
        ("a time that is none", "stream: a\nx: !!timestamp b\n", "2:4", "is not allowed"),
        ("a truth that is none", "stream: [!!bool b]\n", "1:10", "is not allowed"),
        ("a tag of its own", "! stream: a\n", "1:1", "tag '!' is not allowed"),
        ("a key twice", "stream: a\nstream: b\n", "2:1", "key 'stream' occurs twice"),
        ("a merge", "a: &a {x: 1}\nb:\n  <<: *a\n", "3:7", "aliases are not allowed"),
        ("Norway", HEAD + "  NO: {x: long}\n", "5:3", "key False is not a string (quote it)"),
        ("a number as a key", HEAD + "  A: {1: long}\n", "5:7", "key 1 is not a string"),
        ("a list as a key", "? [a, b]\n: c\n", "1:3", "is not a string"),
        ("no end", "stream: {a: b\n", "1:9", "is not closed"),
        ("two documents", "stream: a\n---\nstream: b\n", "2:1", "another document"),
    ],
)
def test_traps_of_yaml(tmp_path: Path, title: str, text: str, where: str, message: str) -> None:
    error = refusal(tmp_path, text)
    assert f"schema.yaml:{where}: " in str(error), title
    assert message in str(error), title


def test_a_number_in_base_60_beyond_doubles_is_an_error(tmp_path: Path) -> None:
    error = refusal(tmp_path, f"stream: 1{':1' * 200}.5\n")
    assert "the file is not valid YAML (correct the YAML syntax)" in str(error)


def test_numbers_and_signs_are_read_as_json_spells_them() -> None:
    """YAML 1.1 takes `1e3` for text, and two escapes for two halves of a sign."""
    text = (
        r'{x: {type: double, min: -1e3, max: 1.5E-7}, s: {type: string, allowed: ["\ud83d\ude00"]}}'
    )
    x, s = read_schema(f"{HEAD}  A: {text}").types[0].attributes
    assert (x.minimum, x.maximum, s.allowed) == (-1000.0, 1.5e-07, ("\U0001f600",))
    with pytest.raises(SchemaError):
        read_schema(HEAD + r'  A: {s: {type: string, allowed: ["\ud83d"]}}')


def test_a_file_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"stream: \xff\n")
    with pytest.raises(SchemaError):
        load_schema(tmp_path / "bad.yaml")


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        ("time.late: 2 days", "time.allowed_lateness: 2 days", "3 days"),
        ("time.early: 2 hours", "time.max_clock_skew: 2 hours", "3 hours"),
        ("keep_days: {events: 9}", "retention_days: {events: 9}", "{events: 8}"),
        ("other_types: refuse", "unknown_types: error", "skip"),
        ("other_types: ignore", "unknown_types: skip", "error"),
    ],
)
def test_old_keys_work_with_a_warning(tmp_path: Path, old: str, new: str, other: str) -> None:
    def schema(*settings: str) -> str:
        times = [one.removeprefix("time.") for one in settings if one.startswith("time.")]
        others = [one for one in settings if not one.startswith("time.")]
        head = HEAD.replace("unit: us", ", ".join(["unit: us", *times]))
        return head.replace("types:", "\n".join([*others, "types:"])) + "  A: {}\n"

    expected = load(tmp_path, schema(new))
    (old_key, _, _), (new_key, _, _) = old.partition(":"), new.partition(":")
    for settings in ([old], [new, old]):
        with pytest.warns(RenamedWarning) as warned:
            assert load(tmp_path, schema(*settings)) == expected
        assert len(warned) == 1
        words = (old, new) if "types" in old else (old_key, new_key)
        assert f"yaml: {words[0]} is now called {words[1]}; use" in str(warned[0].message)
    told = str(refusal(tmp_path, schema(old, f"{new_key}: {other}")))
    names = [key.removeprefix("time.") for key in (old_key, new_key)]
    assert f"{names[0]} and {names[1]} have different values (remove {names[0]})" in told
