"""The workloads that a run may be asked for: by name, never by path."""

from __future__ import annotations

import re
from pathlib import Path

from elsinore.errors import ParameterError

#: Where workloads lie, from the checkout's root.
FOLDER = Path("schemas", "workloads")

#: JSON-schema pattern of a workload's name.
NAME_PATTERN = r"^[a-z][a-z0-9_]{0,62}$"

_SUFFIX = ".sase"
_NAME = re.compile(NAME_PATTERN)


def known_workloads(root: Path, stream: str) -> tuple[str, ...]:
    """Names of the workloads over a stream, in order; a file whose name is no name is none.

    They bear the stream's name, alone or before an underscore: `flights`, `flights_storms`.

    Args:
        root: the folder that holds `schemas/`.
        stream: the name of the stream's schema file, without its suffix.
    """
    names = (file.stem for file in (root / FOLDER).glob(f"*{_SUFFIX}"))
    ours = (name for name in names if name == stream or name.startswith(f"{stream}_"))
    return tuple(sorted(name for name in ours if _NAME.fullmatch(name)))


def workload_path(root: Path, stream: str, name: str) -> Path:
    """The file of a known workload.

    Raises:
        ParameterError: there is no workload of that name over the stream.
    """
    known = known_workloads(root, stream)
    if name not in known:
        raise ParameterError(
            f"there is no workload {name[:64]!r} of {stream}", hint=f"known are: {', '.join(known)}"
        )
    return root / FOLDER / f"{name}{_SUFFIX}"
