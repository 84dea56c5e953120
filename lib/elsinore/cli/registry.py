"""The commands by name, with their help panels and examples."""

from __future__ import annotations

from typing import NamedTuple

#: How the examples get their files; printed below `elsinore --help`.
PROJECT = "elsinore init rides && cd rides"


class Entry(NamedTuple):
    """A command of the command line.

    Attributes:
        place: module and attribute of its function; with subcommands, of a callback.
        panel: heading under which help lists it.
        example: lines to type in the project that `PROJECT` creates; help shows them.
        needs_pipeline: whether it needs the packages of the extra `pipeline`.
    """

    place: str
    panel: str
    example: str
    needs_pipeline: bool = False


QUERY, PROJECTS, PIPELINE = "Query", "Project", "Pipeline"
OPERATE, BENCHMARKS = "Operate", "Benchmarks"

_COMMANDS = "elsinore.cli.commands"
_FILES = "--schema schema.yaml --input events.jsonl"
_HOURS = "--start 2013-01-01T10:00 --end 2013-01-01T11:00"

COMMANDS = {
    "run": Entry(
        f"{_COMMANDS}.query:run", QUERY, f"elsinore run queries.sase {_FILES}"
    ),
    "check": Entry(
        f"{_COMMANDS}.query:check", QUERY, "elsinore check queries.sase --schema schema.yaml"
    ),
    "test": Entry(f"{_COMMANDS}.query:run_cases", QUERY, "elsinore test cases.yaml"),
    "diff": Entry(
        f"{_COMMANDS}.query:diff",
        QUERY,
        "cp queries.sase new.sase  # change it, then:\n"
        f"elsinore diff queries.sase new.sase {_FILES}",
    ),
    "plan": Entry(
        f"{_COMMANDS}.query:plan",
        QUERY,
        "elsinore plan queries.sase --schema schema.yaml --events events.jsonl",
    ),
    "explain": Entry(
        f"{_COMMANDS}.query:explain",
        QUERY,
        "elsinore explain queries.sase --schema schema.yaml --events events.jsonl",
    ),
    "init": Entry(
        f"{_COMMANDS}.project:init", PROJECTS, "elsinore init my-shop --from events.jsonl"
    ),
    "schema": Entry(
        f"{_COMMANDS}.project:schema", PROJECTS, "elsinore schema infer events.jsonl"
    ),
    "new-stream": Entry(
        f"{_COMMANDS}.project:new_stream",
        PROJECTS,
        "elsinore new-stream rides --from events.jsonl",
        needs_pipeline=True,
    ),
    "put": Entry(
        f"{_COMMANDS}.pipeline:put", PIPELINE, "elsinore put events.jsonl",
        needs_pipeline=True,
    ),
    "replay": Entry(
        f"{_COMMANDS}.pipeline:replay", PIPELINE, f"elsinore replay {_HOURS}", needs_pipeline=True
    ),
    **{
        name: Entry(
            f"{_COMMANDS}.pipeline:{name}", PIPELINE, f"elsinore {name} {_HOURS}",
            needs_pipeline=True,
        )
        for name in ("ingest", "aggregate", "validate", "publish")
    },
    "report": Entry(
        f"{_COMMANDS}.pipeline:report",
        PIPELINE,
        "elsinore report 2013-01-01T10_2013-01-01T11",
        needs_pipeline=True,
    ),
    "sql": Entry(
        f"{_COMMANDS}.operate:sql", OPERATE, 'elsinore sql "SHOW TABLES"', needs_pipeline=True
    ),
    "views": Entry(
        f"{_COMMANDS}.operate:views", OPERATE, "elsinore views --dialect spark",
        needs_pipeline=True,
    ),
    "why": Entry(
        f"{_COMMANDS}.operate:why", OPERATE, "elsinore why first {} 2013-01-01T10:00",
        needs_pipeline=True,
    ),
    "hours": Entry(
        f"{_COMMANDS}.operate:hours", OPERATE, "elsinore hours --days 7", needs_pipeline=True
    ),
    "migrate": Entry(
        f"{_COMMANDS}.operate:migrate", OPERATE, "elsinore migrate --dry-run", needs_pipeline=True
    ),
    "forget": Entry(
        f"{_COMMANDS}.operate:forget", OPERATE, "elsinore forget rider=bob --dry-run",
        needs_pipeline=True,
    ),
    "stop": Entry(
        f"{_COMMANDS}.operate:stop", OPERATE, "elsinore stop", needs_pipeline=True
    ),
    "bench": Entry(f"{_COMMANDS}.benchmarks:bench", BENCHMARKS, "elsinore bench --list"),
    "generate": Entry(
        f"{_COMMANDS}.benchmarks:generate",
        BENCHMARKS,
        "elsinore generate stock --events 1000 --output stock.jsonl",
    ),
}  # fmt: skip

#: Old names of commands, which work until the next release.
RENAMED = {"land": "ingest"}
#: Old names of options, which work until the next release.
RENAMED_OPTIONS = {"--finder": "--optimizer", "--max-bad-share": "--max-error-rate"}
#: Other names of commands, which stay.
ALIASES = {"lineage": "why"}

#: Commands that read events, schemas or queries, which can be of others, in their own process.
READ_FILES = frozenset({
    "run", "check", "test", "diff", "plan", "explain", "init", "schema", "new-stream", "put",
})  # fmt: skip

#: Subcommands by their command, with their places and examples.
SUBCOMMANDS = {
    "schema": {"infer": Entry(f"{_COMMANDS}.project:infer", PROJECTS, COMMANDS["schema"].example)},
    "generate": {
        "flights": Entry(
            f"{_COMMANDS}.benchmarks:flights",
            BENCHMARKS,
            "elsinore generate flights --output landing --start 2013-02-08 --end 2013-02-09",
        ),
        **{
            name: Entry(
                f"{_COMMANDS}.benchmarks:stream",
                BENCHMARKS,
                f"elsinore generate {name} --events 1000 --output {name}.jsonl",
            )
            for name in ("ridesharing", "stock", "cluster", "linear-road")
        },
    },
}
