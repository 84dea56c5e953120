"""Nothing of a process group is left, however its run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from elsinore.orchestration.process_group import ProcessGroup

#: A parent that starts a child which sleeps, tells both ids, and then does `{then}`.
FAMILY = (
    "import os, subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(os.getpid(), child.pid, flush=True)\n"
    "{then}\n"
)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet buried does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def run(program: str) -> tuple[int, list[str], list[str]]:
    output: list[str] = []
    errors: list[str] = []
    group = ProcessGroup([sys.executable, "-c", program], cwd=Path.cwd(), env=os.environ)
    code = group.run(on_output=output.append, on_error=errors.append)
    return code, output, errors


def test_both_streams_are_heard_apart_and_to_the_end() -> None:
    code, output, errors = run(
        "import sys\nfor n in range(2000): print(n)\nprint('wrong', file=sys.stderr)\nsys.exit(3)"
    )
    assert (code, errors) == (3, ["wrong"])
    assert output == [str(n) for n in range(2000)]


def test_bytes_that_are_no_text_do_no_harm() -> None:
    code, output, _ = run("import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\n')")
    assert (code, len(output)) == (0, 1)


def test_a_child_that_stays_behind_is_ended() -> None:
    code, output, _ = run(FAMILY.format(then=""))
    assert code == 0
    assert wait_until(lambda: not any(alive(int(pid)) for pid in output[0].split()))


def test_ending_from_another_thread_ends_the_whole_family() -> None:
    output: list[str] = []
    program = FAMILY.format(then="time.sleep(600)")
    group = ProcessGroup([sys.executable, "-c", program], cwd=Path.cwd(), env=os.environ)
    codes: list[int] = []
    thread = Thread(
        target=lambda: codes.append(group.run(on_output=output.append, on_error=output.append))
    )
    thread.start()
    assert wait_until(lambda: bool(output))
    group.end()
    thread.join(20)
    assert codes == [-signal.SIGTERM]
    assert not any(alive(int(pid)) for pid in output[0].split())


def test_a_family_deaf_to_sigterm_is_killed() -> None:
    program = (
        "import signal, time, os\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print(os.getpid(), flush=True)\ntime.sleep(600)"
    )
    output: list[str] = []
    group = ProcessGroup([sys.executable, "-c", program], cwd=Path.cwd(), env=os.environ)
    codes: list[int] = []
    thread = Thread(
        target=lambda: codes.append(group.run(on_output=output.append, on_error=output.append))
    )
    thread.start()
    assert wait_until(lambda: bool(output))
    group.end()
    thread.join(20)
    assert codes == [-signal.SIGKILL]


def test_the_family_dies_with_its_killed_starter() -> None:
    starter = (
        "import os, sys\nfrom pathlib import Path\n"
        "from elsinore.orchestration.process_group import ProcessGroup\n"
        f"group = ProcessGroup([sys.executable, '-c', {FAMILY.format(then='time.sleep(600)')!r}],"
        " cwd=Path.cwd(), env=os.environ)\n"
        "group.run(on_output=lambda line: print(line, flush=True), on_error=print)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    assert all(alive(pid) for pid in pids)
    # What Airflow's supervisor does to a task that will not end: SIGKILL to the task's group.
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert wait_until(lambda: not any(alive(pid) for pid in pids))
