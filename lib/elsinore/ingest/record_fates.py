"""The fate of each raw record: accepted, duplicate, superseded or quarantined.

The statements read only `raw_events`. Spark and DuckDB read them alike.
"""

from __future__ import annotations

from elsinore.ingest.event_keys import WINNERS_FIRST

#: The position of a record in the landing zone.
_PLACE = "file_day, file_hour, file, record_number"


def record_fates(raw_events: str) -> str:
    """Return a SELECT statement of the fate of each record.

    Its columns are `file_day`, `file_hour`, `file`, `record_number`, `event_key`, `fate` and
    `reason_code`. The fate of a record is

    - `accepted`: it is the event in `events`;
    - `duplicate`: it equals the accepted record of its key;
    - `superseded`: it differs from the accepted record of its key;
    - `quarantined`: it was rejected.

    Args:
        raw_events: How the statement names the table, such as `elsinore.raw_events`; it is not
            quoted.
    """
    columns = f"{_PLACE}, event_key, reason_code"
    ranked = (
        f"{columns}, content_hash, row_number() OVER winners_first AS _rank",
        "first_value(content_hash) OVER winners_first AS _winner",
    )
    window = f"PARTITION BY event_key ORDER BY {WINNERS_FIRST}"
    source = f"SELECT {', '.join(ranked)} FROM {raw_events} WINDOW winners_first AS ({window})"  # noqa: S608
    cases = {
        "reason_code IS NOT NULL": "quarantined",
        "_rank = 1": "accepted",
        "content_hash = _winner": "duplicate",
    }
    fate = " ".join(f"WHEN {condition} THEN '{name}'" for condition, name in cases.items())
    return f"SELECT {columns}, CASE {fate} ELSE 'superseded' END AS fate FROM ({source})"  # noqa: S608


def fate_counts(raw_events: str) -> str:
    """Return a SELECT statement of the number of records of each file hour, by fate.

    Its columns are `file_day`, `file_hour`, `records`, `accepted`, `duplicates`, `superseded` and
    `quarantined`. See `record_fates` for the argument.
    """
    counted = {"duplicate": "duplicates"}
    fates = ("accepted", "duplicate", "superseded", "quarantined")
    sums = ", ".join(
        f"count(CASE WHEN fate = '{fate}' THEN 1 END) AS {counted.get(fate, fate)}"
        for fate in fates
    )
    return (
        f"SELECT file_day, file_hour, count(*) AS records, {sums}"  # noqa: S608
        f" FROM ({record_fates(raw_events)}) GROUP BY file_day, file_hour"
    )
