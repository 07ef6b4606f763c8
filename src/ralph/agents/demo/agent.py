"""The demo agent itself: a scripted child process that works on the sample project "todo".

Run as `python -I agent.py SCRIPT [PACE]` in the workspace, it needs only the standard library and
imports nothing of Ralph: like any agent it knows its loop from the environment and speaks JSON lines
(docs/agents.md). What it does next it reads off the files, so that a repeated call does the same thing.
In any other project "honest" tries small repairs until the checks are green (`mend`), and the other
scripts answer BLOCKED.

    honest    fixes one bug; claims done while a test still fails; fixes the other bug
    wrong     tries something else in every call, never the right thing
    liar      claims done and changes nothing that matters
    staller   reads, thinks, changes nothing
    crasher   prints garbage and dies
    hang      says a word and never ends
    limit     reports a usage limit in its first call, then goes on as honest
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

# The two bugs of the sample project, as they stand in todo.py, and their fixes.
WRONG_ORDER = 'key=lambda item: -item["priority"])'
RIGHT_ORDER = 'key=lambda item: item["priority"])'
RIGHT_GUARD = "    return 100 * done // len(items) if items else 100\n"
# Looks like a fix of the second bug, and is none: it answers 0 percent where 100 was asked for.
WRONG_GUARD = "    return 100 * done // max(1, len(items))\n"
GUARD_LINE = "    return 100 * done //"


def emit(kind: str, pace: float = 0.0, **fields: object) -> None:
    sys.stdout.write(json.dumps({"ralph": 1, "type": kind, **fields}) + "\n")
    sys.stdout.flush()
    time.sleep(pace)


def claim(status: str, tests: str, work: str, words: str, *, files: int = 1, tasks: int = 0) -> None:
    emit(
        "claim",
        status=status,
        tasks_completed_this_loop=tasks,
        files_modified=files,
        tests_status=tests,
        work_type=work,
        exit_signal=status == "COMPLETE",
        recommendation=words,
    )


def count_from_env(name: str) -> int:
    value = os.environ.get(name, "1")
    return int(value) if value.isdigit() else 1


def replace_line(source: str, begins: str, line: str) -> str:
    """The source with the line that begins so exchanged; unchanged when there is none."""
    lines = source.splitlines(keepends=True)
    return "".join(line if old.startswith(begins) else old for old in lines)


def write(source: str, pace: float) -> None:
    with open("todo.py", "w", encoding="utf-8", newline="\n") as file:
        file.write(source)
    emit("tool", pace, tool="edit", path="todo.py", added=1, removed=1)


def honest(source: str, pace: float) -> None:
    if WRONG_ORDER in source:
        emit(
            "text",
            pace,
            text="The most urgent item has the smallest number, but the list is sorted downwards.",
        )
        write(source.replace(WRONG_ORDER, RIGHT_ORDER), pace)
        claim("IN_PROGRESS", "FAILING", "IMPLEMENTATION", "Next: the progress of an empty list", tasks=1)
    elif RIGHT_GUARD in source:
        emit("text", pace, text="Both bugs are fixed already.")
        claim("COMPLETE", "PASSING", "TESTING", "Nothing is left to do", files=0)
    elif count_from_env("RALPH_ITERATION") == 2:
        emit("text", pace, text="An empty list must not divide by zero. That was the last bug, I am done.")
        write(replace_line(source, GUARD_LINE, WRONG_GUARD), pace)
        claim("COMPLETE", "PASSING", "IMPLEMENTATION", "All tests pass, the task is complete", tasks=1)
    else:
        emit("text", pace, text="The check is right: an empty list is 100 percent done, not 0.")
        write(replace_line(source, GUARD_LINE, RIGHT_GUARD), pace)
        claim("COMPLETE", "PASSING", "IMPLEMENTATION", "Both bugs are fixed", tasks=1)


def wrong(source: str, pace: float) -> None:
    guess = count_from_env("RALPH_ITERATION")
    emit("text", pace, text=f"Perhaps the divisor is off by {guess}.")
    write(replace_line(source, GUARD_LINE, f"    return 100 * done // (len(items) + {guess})\n"), pace)
    claim("IN_PROGRESS", "FAILING", "IMPLEMENTATION", "Next: another guess")


def liar(_source: str, pace: float) -> None:
    with open("NOTES.md", "a", encoding="utf-8") as file:
        file.write(f"Call {count_from_env('RALPH_ITERATION')}: everything works now.\n")
    emit("tool", pace, tool="edit", path="NOTES.md", added=1, removed=0)
    emit(
        "text", pace, text="I fixed both bugs and ran the whole suite: all tests pass. The task is complete."
    )
    claim("COMPLETE", "PASSING", "IMPLEMENTATION", "All tests pass, the task is complete", tasks=2)


def staller(_source: str, pace: float) -> None:
    emit("tool", pace, tool="read", path="todo.py")
    emit("text", pace, text="I am looking at the code and thinking about it.")
    claim("IN_PROGRESS", "NOT_RUN", "IMPLEMENTATION", "Next: look at the code", files=0)


def crasher(_source: str, pace: float) -> None:
    emit("text", pace, text="Starting.")
    sys.stdout.write('{"ralph": 1, "type": "text", "text": "torn in the mid')
    sys.stdout.flush()
    sys.exit("fatal: the demo agent crashes on purpose")


def hang(_source: str, pace: float) -> None:
    emit("text", pace, text="Waiting for an answer that never comes.")
    while True:
        time.sleep(3600)


def limit(source: str, pace: float) -> None:
    if count_from_env("RALPH_CALL") > 1:
        honest(source, pace)
        return
    emit("limit", pace, message="usage limit reached", reset_at=time.time() + 2)
    sys.exit(1)


SCRIPTS = {
    "honest": honest,
    "wrong": wrong,
    "liar": liar,
    "staller": staller,
    "crasher": crasher,
    "hang": hang,
    "limit": limit,
}


def work_on_other_project() -> None:
    emit("text", text="I am a demonstration that tries small repairs, not a model: no key, no network.")
    emit("usage", tokens=0, cost=0.0)
    # Last on the path: nothing in this folder may stand in for the standard library.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    known = importlib.import_module("edits")
    report = importlib.import_module("mend").mend(
        sys.stdin.read(), known, lambda text: emit("text", text=text)
    )
    for change in report.changes:
        emit("tool", tool="edit", path=change.partition(":")[0], added=1, removed=1, detail=change)
    told = "; ".join(report.changes)
    tries = f"{report.tried} {'try' if report.tried == 1 else 'tries'}"
    files, count = len({change.partition(":")[0] for change in report.changes}), len(report.changes)
    if report.how == "green" and report.changes:
        words = f"Found by trial in {tries}, read it before you use it: {told}"
        claim("COMPLETE", "PASSING", "IMPLEMENTATION", words, files=files, tasks=count)
    elif report.how == "green":
        claim("COMPLETE", "PASSING", "TESTING", "The checks are green here; nothing was changed", files=0)
    elif report.how == "closer":
        words = f"Blocked: fewer tests fail after {told}; for the rest {report.why} ({tries})"
        claim("BLOCKED", "FAILING", "IMPLEMENTATION", words, files=files, tasks=count)
    else:
        tries = f" ({report.tried} tries, all reverted)" if report.tried else ""
        words = (
            f"Blocked: the demo agent only tries small repairs, and {report.why}{tries}; choose a real agent"
        )
        claim("BLOCKED", "FAILING" if report.tried else "NOT_RUN", "IMPLEMENTATION", words, files=0)


def main(script: str, pace: float) -> None:
    try:
        with open("todo.py", encoding="utf-8") as file:
            source = file.read()
    except OSError:
        source = ""
    if GUARD_LINE not in source and script == "honest":
        work_on_other_project()
        return
    if GUARD_LINE not in source:
        emit("text", text="I am only a demo: this script knows one sample project, and this is not it.")
        words = "Blocked: this script of the demo agent works on the sample project only"
        claim("BLOCKED", "NOT_RUN", "IMPLEMENTATION", words, files=0)
        return
    emit("tool", pace, tool="read", path="todo.py")
    emit("usage", tokens=len(source) // 4 + 250, cost=0.0)
    SCRIPTS[script](source, pace)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
