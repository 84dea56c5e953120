"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elsinore.choices import Format

QueryFile = Annotated[
    Path, typer.Argument(metavar="WORKLOAD", help="File of queries (.sase).", show_default=False)
]
SchemaFile = Annotated[
    Path, typer.Option(metavar="FILE", help="Schema of the events (.yaml).", show_default=False)
]
EventFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="EVENTS",
        help="Event files or directories: JSON Lines, CSV or Parquet, also .gz and .zst.",
        show_default=False,
    ),
]
MaxErrorRate = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        min=0,
        max=1,
        help="Fail if more than this share of the records is invalid, from 0 to 1.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Value of a parameter. With several values, separated by commas, each query that uses "
        "it is answered once per value.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
ResultFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Format of the results. By default the name of --output decides; without it, a table "
        "on a terminal and JSON Lines in a pipe.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write the results to this file. By default they are printed."
    ),
]
EventTypeField = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="FIELD",
        help="Field that holds the event type. By default Elsinore picks one by name and values.",
    ),
]
FIRST_HOUR, LAST_HOUR = "First hour (ISO 8601, UTC).", "End of the last hour (ISO 8601, UTC)."
Start = Annotated[str, typer.Option(metavar="TIME", help=FIRST_HOUR, show_default=False)]
End = Annotated[str, typer.Option(metavar="TIME", help=LAST_HOUR, show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]
