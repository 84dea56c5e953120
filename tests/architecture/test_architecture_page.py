"""Pages for developers name modules and functions that exist, and short paths through them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "lib" / "elsinore"
PAGES = ROOT / "docs" / "internals"
PAGE = PAGES / "architecture.md"

#: The most files that a developer has to read to follow a path.
MOST_FILES = 40

#: Headings of the paths, and the number of stages that each one has at least.
PATHS = {"From text to rows": 20, "From files to published rows": 20}

#: A dotted name of Python in backticks.
_NAME = re.compile(r"`([a-z_]\w*(?:\.\w+)+)`")

#: First parts of names that are modules and packages.
_OURS = {path.stem for path in LIBRARY.iterdir() if path.suffix in (".py", "")} | {"jobs"}

#: Settings of Spark, which have dots as well.
_SPARK = ("spark.jars", "spark.sql.", "spark.authenticate")

#: Runs the example, and prints the file and the name of each function of ours that it calls.
_TRACED = """
import sys

called = set()

def note(frame, event, argument):
    if event == "call":
        called.add((frame.f_code.co_filename, frame.f_code.co_qualname))

from elsinore.cli.main import run_command

sys.setprofile(note)
code = run_command(sys.argv[1:])
sys.setprofile(None)
for file, name in called:
    print("called", file, name, file=sys.stderr)
sys.exit(code)
"""


@cache
def _defined(file: Path) -> frozenset[str]:
    """Return the names that a module defines, and those of methods as `Class.method`."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                methods = (each.name for each in body if isinstance(each, ast.FunctionDef))
                names |= {name, *(f"{name}.{method}" for method in methods)}
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return frozenset(names)


def file_of(name: str) -> Path | None:
    """Return the file of a module, or of something that a module defines; None if there is none."""
    parts = name.split(".")
    base = ROOT if parts[0] == "jobs" else LIBRARY
    for length in range(len(parts), 0, -1):
        path, rest = base.joinpath(*parts[:length]), ".".join(parts[length:])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return file if not rest or rest in _defined(file) else None
    return None


def names_in(text: str) -> list[str]:
    """Return the dotted names of a text whose first part is a package or a module of ours."""
    names: list[str] = _NAME.findall(text)
    return [n for n in names if n.split(".")[0] in _OURS and not n.startswith(_SPARK)]


def section(heading: str) -> str:
    """Return the text below a heading of the second level."""
    text = PAGE.read_text(encoding="utf-8")
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def stages(text: str) -> Iterator[tuple[str, str]]:
    """Yield the stage and the module of each row of the first table of a section."""
    table = text.split("|---|---|---|---|\n")[1].split("\n\n", maxsplit=1)[0]
    for row in table.splitlines():
        stage, module, *_ = (cell.strip() for cell in row.strip("|").split("|"))
        yield stage, module.strip("`")


@pytest.mark.parametrize("page", sorted(PAGES.rglob("*.md")), ids=lambda page: page.stem)
def test_pages_name_modules_and_functions_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = [] if "**Status:** superseded by" in text else names_in(text)
    assert [name for name in names if file_of(name) is None] == []


@pytest.mark.parametrize("heading", PATHS)
def test_a_path_names_few_files(heading: str) -> None:
    files = {file_of(name) for name in names_in(section(heading))}
    assert len(files) <= MOST_FILES, sorted(map(str, files))


@pytest.mark.parametrize("heading", PATHS)
def test_each_stage_is_a_function_of_its_own(heading: str) -> None:
    found = list(stages(section(heading)))
    assert len(found) >= PATHS[heading]
    for column in zip(*found, strict=True):
        assert len(set(column)) == len(found)
    modules = [
        name for _, name in found if (file := file_of(name)) is None or _is_module(name, file)
    ]
    assert modules == [], "name a function or class"


def _is_module(name: str, file: Path) -> bool:
    return file.stem == name.rpartition(".")[2] and name.rpartition(".")[2] not in _defined(file)


def test_a_run_calls_each_function_of_the_path() -> None:
    example = ROOT / "docs" / "example"
    command = ["run", str(example / "rides.sase"), "--schema", str(example / "rides.yaml")]
    command += ["--input", str(example / "rides.jsonl")]
    done = subprocess.run(
        [sys.executable, "-c", _TRACED, *command], capture_output=True, text=True, check=True
    )
    lines = (line.split() for line in done.stderr.splitlines())
    called = {(line[1], line[2]) for line in lines if line[:1] == ["called"] and len(line) == 3}
    missing = []
    for _, name in stages(section("From text to rows")):
        file = file_of(name)
        assert file is not None
        module = ".".join(file.relative_to(LIBRARY).with_suffix("").parts)
        is_compiled = file.parent.name in ("kernels", "numbers")
        if not is_compiled and (str(file), name.removeprefix(f"{module}.")) not in called:
            missing.append(name)
    assert missing == []


def test_a_name_that_does_not_exist_is_seen() -> None:
    assert file_of("query.parse.parse_workload") == LIBRARY / "query" / "parse.py"
    assert file_of("executors.plan.runtime_plan.RuntimePlan.run") is not None
    assert file_of("query.parse.parse_all") is None
    assert file_of("engine.plan.plan_for") is None
