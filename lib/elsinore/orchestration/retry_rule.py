"""What the way in which a job ended means for its task."""

from __future__ import annotations

from enum import StrEnum

#: Exit code of a job whose error is transient (`EX_TEMPFAIL` of sysexits.h).
TRANSIENT = 75

#: A shell, a container or a JVM reports death by signal n as 128 + n.
_SIGNALLED = range(129, 160)


class Verdict(StrEnum):
    """What is to become of a task when its job has ended."""

    DONE = "done"
    RETRY = "retry"
    FAIL = "fail"


def judge_exit(code: int) -> Verdict:
    """Whether a task is done, worth another try, or failed for good.

    Retried is only what may go otherwise next time: an error that the job calls transient, and
    death by a signal, which a job never chooses itself (out of memory, a lost machine).

    Args:
        code: exit code of the job; minus n stands for signal n, as in `subprocess`.

    >>> [str(judge_exit(code)) for code in (0, 1, 2, 75, -9, 137)]
    ['done', 'fail', 'fail', 'retry', 'retry', 'retry']
    """
    if code == 0:
        return Verdict.DONE
    if code == TRANSIENT or code < 0 or code in _SIGNALLED:
        return Verdict.RETRY
    return Verdict.FAIL
