"""What happens to the tasks of a run, as lines of a file that somebody else follows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elsinore.orchestration.run_interval import task_label

#: Environment variable with the file to write to; without it nothing is written.
PROGRESS_FILE = "ELSINORE_PROGRESS_FILE"


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """One step in the life of a task.

    Attributes:
        task: id of the task.
        state: `started`, `done`, `retried` (failed, and will be tried again) or `failed`.
        label: which of several mapped tasks it is, for people; empty for the others.
        reason: why it failed; empty otherwise.
        exit_code: what the failure means for a command: 1 failed, 2 wrong input or set-up; 0
            otherwise.
    """

    task: str
    state: str
    label: str = ""
    reason: str = ""
    exit_code: int = 0

    def to_line(self) -> str:
        """One line of JSON, with its line end."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_line(cls, line: str) -> TaskProgress:
        """The step that `to_line` wrote."""
        return cls(**json.loads(line))


def note_progress(state: str) -> Callable[[Mapping[str, Any]], None]:
    """An Airflow callback that appends the step of its task to the file of `PROGRESS_FILE`."""

    def note(context: Mapping[str, Any]) -> None:
        path = os.environ.get(PROGRESS_FILE)
        if path is None:
            return
        error = context.get("exception")
        step = TaskProgress(
            task=context["task"].task_id,
            state=state,
            label=task_label(context["task"]),
            reason="" if error is None else str(error),
            exit_code=0 if error is None else getattr(error, "exit_code", 1),
        )
        # One short write in append mode: tasks that end together do not mix their lines.
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(step.to_line())

    return note
