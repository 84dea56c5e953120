"""No text becomes code: nothing of ours is evaluated, unpickled, or handed to a shell or to SQL."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("lib", "jobs", "dags", "docker")

#: Names that turn text or bytes into code or processes, as calls spell them.
FORBIDDEN = frozenset({
    "eval", "exec", "compile", "__import__", "input", "breakpoint",
    "builtins.eval", "builtins.exec", "builtins.compile",
    "os.system", "os.popen", "pty.spawn", "subprocess.getoutput", "subprocess.getstatusoutput",
    "pickle.load", "pickle.loads", "pickle.Unpickler", "cloudpickle.load", "cloudpickle.loads",
    "dill.load", "dill.loads", "joblib.load", "shelve.open", "marshal.load", "marshal.loads",
    "pandas.read_pickle", "pd.read_pickle", "pandas.eval", "pd.eval", "runpy.run_path",
    "yaml.unsafe_load", "yaml.full_load", "yaml.unsafe_load_all", "yaml.full_load_all",
    "jinja2.Template", "importlib.machinery.SourceFileLoader", "tempfile.mktemp",
})  # fmt: skip
#: Methods that take SQL or expressions as text, whatever the object; these too with constants.
FORBIDDEN_METHODS = frozenset({"expr", "selectExpr", "createOrReplaceTempView", "query"})
#: Methods that may take SQL, if it is written in the source.
SQL_METHODS = frozenset({"sql", "execute", "executemany", "executescript"})
#: Modules of which nothing may be imported at all.
FORBIDDEN_IMPORTS = frozenset({
    "pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "pty", "code", "codeop",
})  # fmt: skip
#: The only SQL that is put together, with why it may be.
ALLOWED = {
    # Airflow's method of an operator.
    (
        "lib/elsinore/orchestration/replay_tasks.py",
        "execute",
        "SQL that is not a constant: execute",
    ),
    # Names of columns in this package, and hours and days in literals (`store.regions.sql`).
    ("lib/elsinore/store/delta_log.py", "_selected", "SQL that is not a constant: execute"),
    # What somebody at a command line asks.
    ("lib/elsinore/cli/sql.py", "_answer", "SQL that is not a constant: sql"),
    # Views of bound queries, whose names are letters, digits and underscores.
    ("lib/elsinore/lake/views.py", "connect", "SQL that is not a constant: execute"),
    ("lib/elsinore/spark/lake_names.py", "register", "SQL that is not a constant: sql"),
    # Declared names of tables and columns, and paths, quoted by `store.sql_text`.
    ("lib/elsinore/store/spark_tables.py", "_execute", "SQL that is not a constant: sql"),
    ("lib/elsinore/store/spark_tables.py", "properties", "SQL that is not a constant: sql"),
    ("lib/elsinore/store/spark_tables.py", "register", "SQL that is not a constant: sql"),
    ("lib/elsinore/store/spark_tables.py", "history", "SQL that is not a constant: sql"),
    # Constants: the order of `ingest.event_keys.WINNERS_FIRST`, and a sum of all rows.
    ("lib/elsinore/ingest/refresh.py", "_winners", ".expr"),
    ("lib/elsinore/ingest/refresh.py", "_differences_here", ".expr"),
}


def findings(source: str) -> Iterator[tuple[str, str]]:
    """Each (function, what it does) of a module's text that runs text as code."""
    yield from _below(ast.parse(source), "<module>")


def _below(node: ast.AST, inside: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = node.name
    if isinstance(node, ast.Call):
        yield from ((inside, what) for what in _of_call(node))
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((inside, what) for what in _of_import(node))
    for child in ast.iter_child_nodes(node):
        yield from _below(child, inside)


def _of_import(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    from_module = node.module if isinstance(node, ast.ImportFrom) else None
    for alias in node.names:
        module = from_module or alias.name
        if module.split(".")[0] in FORBIDDEN_IMPORTS:
            yield f"import {module}"
        elif f"{from_module}.{alias.name}" in FORBIDDEN:  # it would be called by its bare name
            yield f"import {from_module}.{alias.name}"


def _of_call(call: ast.Call) -> Iterator[str]:
    name = ast.unparse(call.func)
    owner, method = _method(call.func)
    if name in FORBIDDEN or name in ("expr", "yaml.load"):
        yield name
    if method in FORBIDDEN_METHODS:
        yield f".{method}"
    if method in SQL_METHODS and call.args and not isinstance(call.args[0], ast.Constant):
        yield f"SQL that is not a constant: {method}"
    if method == "format" and not isinstance(owner, ast.Constant) and not _names_a_kind(call):
        yield f"a format string that is not a constant: {name}"
    for keyword in call.keywords:
        off = isinstance(keyword.value, ast.Constant) and not keyword.value.value
        if keyword.arg in ("shell", "allow_pickle") and not off:
            yield f"{keyword.arg} is on"
        if keyword.arg == "autoescape" and off:
            yield "autoescape is off"


def _method(function: ast.expr) -> tuple[ast.expr | None, str | None]:
    return (function.value, function.attr) if isinstance(function, ast.Attribute) else (None, None)


def _names_a_kind(call: ast.Call) -> bool:
    """Whether it is Spark's `.format("delta")`, which names a kind of file."""
    return len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and not call.keywords


@pytest.mark.slow
def test_no_text_becomes_code() -> None:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {
        (path.relative_to(ROOT).as_posix(), *finding)
        for path in files
        for finding in findings(path.read_text(encoding="utf-8"))
    }
    assert len(files) > 200
    assert found == ALLOWED


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("eval(x)", "eval"),
        ("builtins.exec(x)", "builtins.exec"),
        ("compile(x, '', 'eval')", "compile"),
        ("__import__(x)", "__import__"),
        ("os.system('ls')", "os.system"),
        ("import pickle", "import pickle"),
        ("from pickle import loads as f", "import pickle"),
        ("import os, marshal", "import marshal"),
        ("from os import system", "import os.system"),
        ("subprocess.run(x, shell=True)", "shell is on"),
        ("subprocess.run(x, shell=on)", "shell is on"),
        ("np.load(f, allow_pickle=True)", "allow_pickle is on"),
        ("F.expr('a')", ".expr"),
        ("expr('a')", "expr"),
        ("df.selectExpr(x)", ".selectExpr"),
        ("spark.sql(f'SELECT {x}')", "SQL that is not a constant: sql"),
        ("cursor.execute('SELECT ' + x)", "SQL that is not a constant: execute"),
        ("pattern.format(x)", "a format string that is not a constant: pattern.format"),
        ("hint.format('a', b='c')", "a format string that is not a constant: hint.format"),
        ("Environment(autoescape=False)", "autoescape is off"),
        ("yaml.load(x, Loader)", "yaml.load"),
        ("yaml.unsafe_load(x)", "yaml.unsafe_load"),
    ],
)
def test_the_scan_sees(source: str, what: str) -> None:
    assert list(findings(source)) == [("<module>", what)]


@pytest.mark.parametrize(
    "source",
    [
        "re.compile(x)", "subprocess.run([x], shell=False)", "spark.sql('SELECT 1')",
        "read.format('delta')", "'{} of {}'.format(a, b)", "yaml.safe_load(x)",
        "np.load(f, allow_pickle=False)", "Environment(autoescape=True)", "lake.delta(x)",
    ],
)  # fmt: skip
def test_the_scan_lets_pass(source: str) -> None:
    assert list(findings(source)) == []
