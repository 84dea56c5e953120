"""What is done to a job and to the Spark server that works for it, from the job's process."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import psutil  # type: ignore[import-untyped]

#: How long a Python worker is waited for, in seconds, and how long between two looks.
_PATIENCE, _LOOK = 20.0, 0.005


@dataclass(frozen=True)
class Fault:
    """What happens to a job, where.

    Attributes:
        kind: one of `KINDS`; of any other, the job is held at its point until it is told to go on.
        at: at which of the job's points, counted from 1, or the name of that point, for a job that
            is tried again has fewer of them.
        after: seconds after that point; 0: right there.
        bytes: for `disk`, how large a file may get.
    """

    kind: str
    at: int | str
    after: float = 0.0
    bytes: int = 0

    def __str__(self) -> str:
        size = f" of {self.bytes} bytes" if self.kind == "disk" else ""
        return f"{self.kind}{size}" + (f" + {self.after} s" if self.after else "")


@dataclass
class Strike:
    """A fault in this process.

    Attributes:
        fault: what happens.
        home: of the server that works for this process.
        hit: ids of the processes that it has hit so far.
    """

    fault: Fault
    home: Path
    hit: list[int] = field(default_factory=list)

    def begin(self) -> None:
        """Strikes now, or else in a thread that does so."""
        if self.fault.after or self.fault.kind in _LONG:
            self._later = Thread(target=self._wait_and_strike, daemon=True)
            self._later.start()
        else:
            KINDS[self.fault.kind](self)

    def finish(self) -> None:
        """Waits for a strike that comes later than the end of its job."""
        if self.fault.after and hasattr(self, "_later"):
            self._later.join()

    def _wait_and_strike(self) -> None:
        time.sleep(self.fault.after)
        KINDS[self.fault.kind](self)

    def client(self) -> None:
        """This very process."""
        os.kill(os.getpid(), signal.SIGKILL)

    def server(self) -> None:
        """The JVM, which is driver and executor where the master is `local`."""
        self._kill(process for process in server_processes(self.home) if process.name() == "java")

    def daemon(self) -> None:
        """The process that forks Python workers, and they."""
        self._kill(self._daemons())

    def worker(self) -> None:
        """One Python worker that is at work: one that has used time between two looks."""
        end, before = time.monotonic() + _PATIENCE, dict[int, float]()
        while time.monotonic() < end and not self.hit:
            for process in self._workers():
                with suppress(psutil.Error):
                    used = process.cpu_times().user
                    if used > before.setdefault(process.pid, used):
                        self._kill([process])
                        break
            time.sleep(_LOOK)

    def workers(self) -> None:
        """Every Python worker from now on: no try of a task of Spark's can succeed."""
        while True:
            self._kill(self._workers())
            time.sleep(_LOOK)

    def disk(self) -> None:
        """No file grows any more. Java and Python ignore the signal; writing then fails (EFBIG)."""
        processes = [psutil.Process(), *server_processes(self.home)]
        self.hit += [each.pid for each in processes if limit_files(each, self.fault.bytes)]

    def _daemons(self) -> list[psutil.Process]:
        found = server_processes(self.home)
        return [process for process in found if "elsinore.spark.worker_daemon" in _command(process)]

    def _workers(self) -> list[psutil.Process]:
        daemons = self._daemons()
        ids = {process.pid for process in daemons}
        return [process for process in daemons if process.ppid() in ids]

    def _kill(self, processes: Iterable[psutil.Process]) -> None:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
                self.hit.append(process.pid)


#: What strikes, by the kind of fault.
KINDS: Mapping[str, Callable[[Strike], None]] = {
    "client": Strike.client,
    "server": Strike.server,
    "daemon": Strike.daemon,
    "worker": Strike.worker,
    "workers": Strike.workers,
    "disk": Strike.disk,
}
#: Those that look for what they strike.
_LONG = frozenset({"worker", "workers"})


def server_processes(home: Path) -> list[psutil.Process]:
    """Those of the Spark server of a home, Python workers among them; none if it does not live.

    Not its process group: Python workers are in one of their own.
    """
    try:
        told = json.loads((home / "spark" / "server.json").read_text(encoding="utf-8"))
        keeper = psutil.Process(told["group"])
        return [keeper, *keeper.children(recursive=True)]
    except (FileNotFoundError, psutil.NoSuchProcess):
        return []


def limit_files(process: psutil.Process, size: int | None) -> bool:
    """No file of it grows beyond a size any more; None: as before. Whether it lives."""
    try:
        _, hard = process.rlimit(psutil.RLIMIT_FSIZE)
        process.rlimit(psutil.RLIMIT_FSIZE, (hard if size is None else size, hard))
    except psutil.NoSuchProcess:
        return False
    return True


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:  # it has ended
        return []
