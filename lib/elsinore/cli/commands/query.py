"""Commands that run and inspect queries over files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elsinore.choices import BUDGET, TIME_LIMIT, Executor, Format, InputFormat, Optimizer
from elsinore.cli.commands.arguments import (
    AsJson,
    MaxErrorRate,
    Output,
    QueryFile,
    ResultFormat,
    SchemaFile,
    Set,
)

_Executor = Annotated[
    Executor,
    typer.Option(help="Engine that evaluates the queries. auto picks the fastest one per query."),
]
_Rates = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Rates of the event types (.yaml), to estimate costs."),
]
_Events = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="PATH",
        help="Event files, or the table of events of a lake, to measure the rates instead.",
    ),
]


_RowFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Wide: table, json, csv. Long (a row per aggregate): parquet, arrow. By default, "
        "--output decides, or else a terminal gets a table, a pipe JSON.",
    ),
]


_Input = Annotated[
    list[Path],
    typer.Option(
        "--input",
        metavar="PATH",
        help="Events: files, directories, Delta tables, or - for standard input. JSON Lines, "
        "CSV or Parquet, also .gz and .zst.",
        show_default=False,
    ),
]
_MoreInput = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="More events, so that --input *.csv works."),
]
_InputFormat = Annotated[
    InputFormat | None,
    typer.Option(
        help="Format of standard input and of files with other names. By default the name of "
        "a file decides."
    ),
]
_Top = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Keep the N rows per query with the largest first aggregate. By default all rows "
        "are kept.",
    ),
]
_Quarantine = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write rejected records to this file. By default, they are only counted.",
    ),
]
_Budget = Annotated[
    int,
    typer.Option(
        metavar="STEPS", min=1, help="Maximum number of steps that twostep takes per query."
    ),
]
_StaticPlan = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Static plan for --executor sharon, from `elsinore plan --json`. By default the "
        "GWMIN algorithm finds one.",
    ),
]
_Decisions = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the sharing decisions of --executor hamlet per burst (.json, .svg, .png).",
    ),
]
_Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print notes that a terminal would show.")
]


def run(
    workload: QueryFile,
    schema: SchemaFile,
    input_: _Input,
    more: _MoreInput = None,
    executor: _Executor = Executor.AUTO,
    input_format: _InputFormat = None,
    output: Output = None,
    form: _RowFormat = None,
    top: _Top = None,
    quarantine: _Quarantine = None,
    max_error_rate: MaxErrorRate = 0.05,
    budget: _Budget = BUDGET,
    plan: _StaticPlan = None,
    decisions: _Decisions = None,
    set_: Set = None,
    verbose: _Verbose = False,
) -> None:
    """Run the queries of WORKLOAD over event files.

    JSON Lines are sorted by query, group and window. Tables, and the rows that --top keeps, are
    sorted by the first aggregate, largest first.
    """
    from elsinore.cli.run import RunOptions, run_queries

    run_queries(
        RunOptions(
            workload=workload,
            schema=schema,
            inputs=[*input_, *(more or [])],
            executor=executor,
            input_format=input_format,
            output=output,
            form=form,
            top=top,
            quarantine=quarantine,
            max_error_rate=max_error_rate,
            budget=budget,
            plan=plan,
            decisions=decisions,
            params=set_ or [],
            verbose=verbose,
        )
    )


def run_cases(
    cases: Annotated[list[Path], typer.Argument(metavar="CASES", help="Files of cases (.yaml).")],
    executor: _Executor = Executor.AUTO,
    set_: Set = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Print all differing rows. By default the first 20 per case."
        ),
    ] = False,
) -> int:
    """Run test cases: small streams with the rows that a query must return.

    Prints a line per case, and for a failed case the missing and the extra rows. The exit code is 1
    if a case fails.
    """
    from elsinore.cli.cases import run_cases as run_all

    return run_all(cases, executor, set_ or [], verbose=verbose)


def diff(
    before: Annotated[
        Path,
        typer.Argument(metavar="BEFORE", help="File of queries (.sase), or results of `run`."),
    ],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The file to compare it with.")],
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Schema of the events, to compare two files of queries."),
    ] = None,
    input_: Annotated[
        list[Path] | None,
        typer.Option(
            "--input", metavar="PATH", help="Event files, to compare two files of queries."
        ),
    ] = None,
    set_: Set = None,
    max_error_rate: MaxErrorRate = 0.05,
    form: ResultFormat = None,
    output: Output = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Show the N largest changes. By default 20 in a table and all in other formats.",
        ),
    ] = None,
) -> None:
    """Compare the results of two workloads, or of two result files.

    Lists added, removed and changed values, largest change first. Results can be files in JSON
    Lines, CSV, Parquet or Arrow that `elsinore run --output` wrote.
    """
    from elsinore.cli.diff import DiffOptions, show_differences

    show_differences(
        DiffOptions(
            before=before,
            after=after,
            schema=schema,
            inputs=input_ or [],
            params=set_ or [],
            max_error_rate=max_error_rate,
            form=form,
            output=output,
            top=top,
        )
    )


def check(
    workload: QueryFile,
    schema: SchemaFile,
    set_: Set = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the templates of the queries (.svg, .png)."),
    ] = None,
) -> None:
    """Check WORKLOAD against its schema and describe each query.

    Lists all errors with their positions and fixes, or each query's pattern, predicates, keys,
    windows and executors.
    """
    from elsinore.cli.plan import check as check_queries

    check_queries(workload, schema, set_ or [], as_json, plot)


def plan(
    workload: QueryFile,
    schema: SchemaFile,
    rates: _Rates = None,
    events: _Events = None,
    set_: Set = None,
    optimizer: Annotated[
        Optimizer,
        typer.Option(
            help="Optimizer that finds the plan. gwmin is greedy. sharon and exhaustive come from "
            "the Sharon paper, for small workloads. optimal uses a solver."
        ),
    ] = Optimizer.OPTIMAL,
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Time limit of sharon and optimal; the others ignore it."
        ),
    ] = TIME_LIMIT,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the Sharon graph (.svg, .png).")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the plan as JSON, for `elsinore run --plan`.")
    ] = False,
) -> None:
    """Find which parts of the queries in WORKLOAD should share work.

    Prints candidates, benefits, conflicts and the chosen plan. Give either --rates or --events.
    """
    from elsinore.cli.plan import plan as find_and_print

    find_and_print(
        workload, schema, set_ or [], rates, events, optimizer, time_limit, plot, as_json
    )


def explain(
    workload: QueryFile,
    schema: SchemaFile,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Static plan, from `elsinore plan --json`. Without it, --rates or --events is "
            "needed to find one.",
        ),
    ] = None,
    rates: _Rates = None,
    events: _Events = None,
    set_: Set = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw which queries share what (.svg, .png)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain how the queries of WORKLOAD share work, and what that saves.

    A plan shows the gain per query only together with --rates or --events.
    """
    from elsinore.cli.plan import explain as explain_sharing

    explain_sharing(workload, schema, set_ or [], plan, rates, events, plot, as_json)
