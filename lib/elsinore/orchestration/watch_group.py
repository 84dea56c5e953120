"""A watchman: kills a process group as soon as whoever started it is gone, however it went.

Run as a script with the id of the group; it waits for its standard input to be closed, which the
system does when the other end dies, even by SIGKILL. Airflow kills the group of its task, and the
job runs in a group of its own: without a watchman it would go on writing while the task is retried.
"""

from __future__ import annotations

import os
import signal
import sys


def watch(group: int) -> None:
    """Waits for the end of standard input, then kills the process group `group`."""
    sys.stdin.buffer.read()
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    watch(int(sys.argv[1]))
