"""Reads the imports of a source file without running it."""

import ast
from collections.abc import Iterator
from pathlib import Path


def imported_names(source: str, *, run_at_import: bool) -> set[str]:
    """Returns the dotted names that `source` imports.

    Args:
        source: Text of a module with absolute imports; `from a import b` gives `a` and `a.b`,
            since `b` may be a module.
        run_at_import: Only what runs when the module is imported: nothing inside a function, and
            nothing under `if TYPE_CHECKING`.
    """
    names: set[str] = set()
    for node in _nodes(ast.parse(source), run_at_import):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def imports_below(*folders: Path, run_at_import: bool) -> dict[Path, set[str]]:
    """Returns the imported names of every Python file below `folders` (which may be absent)."""
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return {
        path: imported_names(path.read_text(encoding="utf-8"), run_at_import=run_at_import)
        for path in files
    }


def is_within(name: str, packages: frozenset[str]) -> bool:
    """Returns whether the dotted `name` is one of `packages` or lies in one of them."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _nodes(node: ast.AST, run_at_import: bool) -> Iterator[ast.AST]:
    yield node
    if run_at_import:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for otherwise in node.orelse:
                yield from _nodes(otherwise, run_at_import)
            return
    for child in ast.iter_child_nodes(node):
        yield from _nodes(child, run_at_import)
