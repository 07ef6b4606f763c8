"""`ralph --help`, `ralph status` with 1,000 loops, and idle hooks, beside an idle interpreter."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

from measuring import Line, interleaved, quiet, ratio_line
from msgspec import json
from msgspec.structs import replace
from sample import DIGITS, RALPH, Place, make_project, place, ralph_loop

from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.rows import FILE
from ralph.shell.journal.store import JournalRow, SummaryRow

PART = "startup"
AIM = 6.0
LOOPS = 1000
REAL_TURNS = 6  # a loop of that many leaves about thirty rows
HOOKS = ("Stop", "SubagentStop", "SubagentStart", "PreToolUse", "PostToolUse", "SessionStart")
HOOK = b'{"session_id": "s1", "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}}'
HOOK_AIM = 4.0  # bare interpreters: 50 ms where one takes 12.5
UNFINISHED = 50  # every so many loops one stands paused


def measure(quick: bool) -> list[Line]:
    rounds = 10 if quick else 40
    with place() as here:
        make_project(here, 100, REAL_TURNS)
        ralph_loop(here, "real", REAL_TURNS)
        _fill_journal(here)
        seconds = interleaved(
            rounds,
            lambda: _seconds([sys.executable, "-c", "pass"], here),
            lambda: _seconds([RALPH, "--help"], here),
            lambda: _seconds([RALPH, "status"], here),
            *(lambda event=event: _seconds([RALPH, "hook", event, "--host", "claude"], here, HOOK)
              for event in HOOKS),
        )  # fmt: skip
    bare, *rest = map(quiet, seconds)
    names = ("ralph --help", f"ralph status, {LOOPS:,} loops")
    lines = [ratio_line(PART, name, bare, taken, AIM) for name, taken in zip(names, rest[:2], strict=True)]
    names = tuple(f"ralph hook {event}, nothing to decide" for event in HOOKS)
    return lines + [
        ratio_line(PART, name, bare, taken, HOOK_AIM) for name, taken in zip(names, rest[2:], strict=True)
    ]


def _seconds(argv: list[str], here: Place, given: bytes = b"") -> float:
    began = time.monotonic()
    subprocess.run(argv, cwd=here.repo, env=here.env, input=given, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def _fill_journal(here: Place) -> None:
    """A thousand copies of a real loop, through the journal itself; in memory, where a sync costs nothing."""
    with read_journal(here.state) as reader:
        rows, summary = list(reader.rows(f"real-{DIGITS}")), reader.summaries()[0]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        with open_journal(scratch) as journal:
            for number in range(LOOPS):
                ended = number % UNFINISHED != 0
                name = f"copy-{number:04}"
                kept = rows if ended else rows[:-2]
                line = _summary(summary, name, "ended" if ended else "paused")
                first = kept[0]
                journal.create(name, **_words(first), summary=line)
                for row in kept[1:]:
                    journal.append(name, row.seq - 1, **_words(row), summary=line)
        for name in os.listdir(here.state):
            if name.startswith(FILE):
                os.unlink(os.path.join(here.state, name))
        shutil.copyfile(os.path.join(scratch, FILE), os.path.join(here.state, FILE))


def _words(row: JournalRow) -> dict[str, object]:
    return {"at": row.at, "kind": row.kind, "v": row.v, "body": row.body}


def _summary(real: SummaryRow, name: str, phase: str) -> SummaryRow:
    body = json.decode(real.body) | {"loop": name, "phase": phase}
    outcome = real.outcome if phase == "ended" else ""
    body["outcome"] = outcome or None
    return replace(real, loop=name, phase=phase, outcome=outcome, body=json.encode(body))
