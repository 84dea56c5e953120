"""A run whose jobs are struck again and again; after each, the tables are those of a clean run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from elsinore.orchestration.retry_rule import Verdict
from tests.faults.attempt import Ended, Fault, Job
from tests.faults.clean import AGGREGATE, CleanRun, Step, reopened
from tests.faults.history import Home
from tests.faults.warm import Warm
from tests.lake_contents import PUBLISHED, contents, differences

#: Faults of the process group that the operator starts: such a job is never a warm one.
_OF_THE_TASK = frozenset({"group", "task ended", "task killed"})
#: What a try may come to, by the kind of fault: a full disk is no case for another try by itself.
_ALLOWED = {"disk": set(Verdict)}
_RETRIED = {Verdict.DONE, Verdict.RETRY}


@dataclass(frozen=True)
class Point:
    """One fault and what came of it.

    Attributes:
        step: the task.
        fault: what was to happen.
        ended: how that try ended; nothing happened if it has no `point`.
        wrong: in words, what should not be so; empty if all is well.
    """

    step: Step
    fault: Fault
    ended: Ended
    wrong: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = self.ended.point or "not reached"
        after = f" + {self.fault.after} s" if self.fault.after else ""
        if self.fault.kind == "disk":
            after = f" at {self.fault.bytes} bytes"
        code = self.ended.code
        ended = {None: "task killed", 0: "done"}.get(code, f"exit code {code}")
        said = f" ({self.ended.said[:110]})" if self.ended.said else ""
        told = "".join(f"\n    WRONG: {line}" for line in self.wrong)
        return (
            f"{self.step!s:<24}{self.fault.kind}{after}, {where}: {ended}{said} "
            f"{self.ended.seconds:.1f} s{told}"
        )


@dataclass
class Chain:
    """A run in a home of its own.

    Attributes:
        run: the clean run that it repeats.
        home: as the clean run found it.
        tell: told of each point as soon as it is over.
        wrong: what differs, in words.
    """

    run: CleanRun
    home: Home
    tell: Callable[[Point], None]
    warm: Warm | None = None
    wrong: list[str] = field(default_factory=list)

    def go(self, faults: Mapping[Step, Sequence[Fault]]) -> bool:
        """Every job of the run with its faults, then without; whether all was well.

        Stops where the tables differ: what follows would differ for the same reason.
        """
        for step in self.run.points:
            self.strike(step, faults.get(step, ()))
            if self.wrong:
                return False
        return True

    def strike(self, step: Step, faults: Sequence[Fault]) -> None:
        """One task with its faults, then without."""
        job = Job(step.job, step.interval, self.home)
        visible = [self._published(), self.run.after[step].get(PUBLISHED, [])]
        for fault in faults:
            ended = job.run(fault, warm=None if fault.kind in _OF_THE_TASK else self.warm)
            wrong = _misjudged(fault, ended)
            if self._published() not in visible:
                wrong += (f"{PUBLISHED} shows neither what it did nor what it should",)
            self.tell(Point(step, fault, ended, wrong))
            self.wrong += wrong
            if ended.verdict is Verdict.DONE:
                break
        else:
            ended = job.run(warm=self.warm)
        if ended.verdict is not Verdict.DONE:
            self.wrong.append(f"{step} left alone ended with {ended.code}: {ended.said}")
        if step.job == "land_events":
            self._compare_reopened(ended)
        self.wrong += differences(contents(self.home.lake), self.run.after[step])

    def _compare_reopened(self, landed: Ended) -> None:
        """What a landing tells the tasks after it, whichever try it is that tells."""
        expected = [step for step in self.run.points if step.job == AGGREGATE][1:]
        if reopened(landed) != expected:
            self.wrong.append(f"re-opened {landed.figures}, not {[str(s) for s in expected]}")

    def _published(self) -> list[str]:
        return contents(self.home.lake, [PUBLISHED]).get(PUBLISHED, [])


def _misjudged(fault: Fault, ended: Ended) -> tuple[str, ...]:
    wrong = []
    if ended.verdict not in _ALLOWED.get(fault.kind, _RETRIED):
        wrong.append(f"nobody would try again: exit code {ended.code}, {ended.said}")
    if ended.left:
        wrong.append(f"processes were left: {ended.left}")
    if ended.code is not None and ended.code > 0 and not ended.said:
        wrong.append("it failed without a word")
    return tuple(wrong)
