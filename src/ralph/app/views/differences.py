"""What a loop changed, from the commits that its journal names. Nothing is written."""

from __future__ import annotations

from ralph.app.words.format import short
from ralph.core.model.events import CheckpointMade
from ralph.errors import NothingToDo, UserError
from ralph.shell.git.project import find_project, user_call
from ralph.shell.journal.entries import Record


def diff_text(record: Record, iteration: int | None = None, *, stat: bool = False) -> str:
    """The base against the result, the best checkpoint so far, or that of one iteration; raw."""
    return diff_between(record, *commits_to_compare(record, iteration), stat=stat)


def diff_between(record: Record, base: str, after: str, *, stat: bool = False) -> str:
    """What changed from one commit of the loop to another; raw."""
    project = find_project(record.loop.sealed.repo)
    args = ["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color"]
    args += ["--stat=100"] if stat else ["-p", "--src-prefix=a/", "--dst-prefix=b/"]
    done = user_call(project, [*args, base, after], ok=None)
    if done.code:
        raise UserError(
            f"commit {short(after)} of loop '{record.name}' is gone",
            code="E-COMMIT-GONE",
            at=project.top,
            why="the loop was dropped, or git removed what no ref held",
            next=f"ralph status {record.name}",
        )
    return done.out.decode("utf-8", "replace")


def commits_to_compare(record: Record, iteration: int | None) -> tuple[str, str]:
    loop = record.loop
    base = loop.sealed.base.commit
    if iteration is not None:
        made = [event for event in record.events if isinstance(event, CheckpointMade)]
        found = [event.commit for event in made if event.iteration == iteration]
        if not found:
            known = ", ".join(sorted({str(event.iteration) for event in made}, key=int)) or "none"
            raise UserError(
                f"loop '{record.name}' has no checkpoint {iteration}",
                code="E-CHECKPOINT-UNKNOWN",
                why=f"expected one of: {known}",
                next=f"ralph logs {record.name}",
            )
        return base, found[-1]
    best = (
        loop.progress.best.commit if loop.progress.best is not None and loop.progress.best.iteration else ""
    )
    after = loop.landing.result or best or loop.work.commit
    if not after or after == base:
        raise NothingToDo(
            f"loop '{record.name}' has changed nothing",
            code="E-DIFF-EMPTY",
            next=f"ralph status {record.name}",
        )
    return base, after
