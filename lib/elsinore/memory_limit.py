"""The memory limit of commands that read files of others.

A small file can unpack to a large one, and a short query can have many results. Bounds on single
values cannot exclude every such case, so the process as a whole has a limit: an allocation beyond
it raises MemoryError, and the command ends with one line instead of taking the memory of others.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from elsinore.errors import ParameterError

#: The variable with the limit, such as `2g` or `512m`; `none` sets no limit.
MEMORY_LIMIT = "ELSINORE_MEMORY_LIMIT"
#: By default, the share of the available memory, and the minimum limit. The limit includes reserved
#: memory, of which libraries need some hundred MB.
_SHARE, _LEAST_DEFAULT = 0.8, 1 << 30
#: Below this limit not even the libraries could be loaded.
_LEAST = 256 << 20
_UNITS = {"m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
#: The limits of control groups, of versions 2 and 1.
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def limit_memory() -> None:
    """Limit the private memory of this process by `ELSINORE_MEMORY_LIMIT`, for good.

    Processes that it starts inherit the limit. A lower limit that was set before stays.

    Raises:
        ParameterError: the variable is not a size.
    """
    most = limit_in_bytes()
    if most is None:
        return
    import resource  # not on every system

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    for known in (soft, hard):
        most = most if known == resource.RLIM_INFINITY else min(most, known)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def limit_in_bytes() -> int | None:
    """Return the limit that the variable sets; None: there is none.

    Raises:
        ParameterError: the variable is not a size.
    """
    return _bytes(os.environ.get(MEMORY_LIMIT, ""))


def _bytes(text: str) -> int | None:
    """Return the limit in bytes; None for `none`."""
    if not text:
        return max(int(_SHARE * available_memory()), _LEAST_DEFAULT)
    if text == "none":
        return None
    found = re.fullmatch(r"(\d{1,6})([mgt])", text.lower(), re.ASCII)
    size = int(found[1]) * _UNITS[found[2]] if found else 0
    if size < _LEAST:
        raise ParameterError(
            f"{MEMORY_LIMIT}: not a size of at least {_LEAST >> 20}m: {text[:40]!r}",
            hint="write it as 2g or 512m, or none for no limit",
        )
    return size


def available_memory() -> int:
    """Return the bytes of memory of this machine, or of the control group of this process."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _GROUPS:
        with suppress(OSError, ValueError):  # no such group, or `max`
            sizes.append(int(Path(path).read_text(encoding="ascii")))
    return min(size for size in sizes if size > 0)
