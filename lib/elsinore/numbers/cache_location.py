"""The directory of compiled kernels."""

import hashlib
import os
import stat
import tempfile
from errno import EACCES
from pathlib import Path

_HERE = Path(__file__).parent
#: The sources that are compiled.
_SOURCES = ("numbers/*.py", "executors/kinds.py", "executors/*/kernels/*.py")


def cache_folder(named: str = "") -> Path:
    """Return the directory of compiled kernels, one for each state of their sources.

    Numba checks the source file of the function that it loads, but not the files of the functions
    compiled into it. After a change of one kernel file, other kernels would keep its old code, even
    in a directory that outlives the installation. Several machines can share one directory.

    Code is loaded from the directory, so other users must not be able to write to it. Elsinore
    uses the first that is possible: the named directory, the directory of the sources, the user's
    cache, a new temporary directory.
    """
    digest = hashlib.sha256()
    for source in sorted(file for part in _SOURCES for file in _HERE.parent.glob(part)):
        digest.update(source.read_bytes())
    return base_folder(named) / f"compiled-{digest.hexdigest()[:16]}"


def base_folder(named: str = "") -> Path:
    """Return the parent of the directories of compiled kernels.

    Raises:
        PermissionError: another user can write to the named directory.
    """
    if named:
        _require_safe(Path(named))
        return Path(named)
    if os.access(_HERE, os.W_OK):
        return _HERE / "__pycache__"
    try:
        of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        kept = of_user / "elsinore" / "kernels"
        kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(kept, os.W_OK) and not _writers(kept):
            return kept
    except (OSError, RuntimeError):  # no home directory, or it is not writable
        pass
    return Path(tempfile.mkdtemp(prefix="elsinore-kernels-"))


def _require_safe(named: Path) -> None:
    """Create the named directory if it is missing; raise if another user can write to it."""
    named.mkdir(mode=0o700, parents=True, exist_ok=True)
    if writers := _writers(named):
        problem = f"{writers} can write to this NUMBA_CACHE_DIR, from which code is loaded"
        raise PermissionError(EACCES, problem, str(named))


def _writers(directory: Path) -> str:
    """Return who else can write to a directory; empty if no other user can.

    The group can: volumes of Kubernetes belong to root and to a group.
    """
    status = directory.stat()
    if status.st_uid not in (0, os.geteuid()):
        return f"user {status.st_uid}"
    return "every user" if status.st_mode & stat.S_IWOTH else ""
