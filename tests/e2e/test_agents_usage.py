"""Usage limits that a CLI tells in a sentence only: waited for until the time that the sentence names."""

import os
import shutil
import sys
import time

import pytest
from kit import CHECK, SCRIPTED, TASK

from ralph.core.model import events as e

pytestmark = pytest.mark.slow

# Stands on PATH under the name of a CLI and prints what that CLI prints.
CLI = """#!{python}
import json, os, sys, time
sys.path.insert(0, {lib!r})
calls = {calls!r}
with open(calls, "a") as file:
    file.write("x")
def say(**record):
    print(json.dumps(record), flush=True)
if os.path.getsize(calls) <= {limited}:
    {limit}
    sys.exit(1)
from _lib import fix
fix()
{good}
"""
CLAUDE = (
    'say(type="result", subtype="success", is_error=True, result=f"Claude AI usage limit reached|{soon}")'
)
CODEX = (
    'say(type="turn.failed", error={"message": "You\\u2019ve hit your usage limit, try again at 5:17 PM."})'
)


def installed(place, name: str, *, limit: str, good: str = "", limited: int = 1) -> dict[str, str]:
    """The environment of a user who has this CLI and a key for it."""
    folder, outside = place.top / "bin", place.top / "outside"
    outside.mkdir()
    folder.mkdir()
    shutil.copy(SCRIPTED / "_lib.py", folder)
    script = folder / name
    calls, python = str(outside / "calls"), os.path.realpath(sys.executable)
    limit = f"soon = int(time.time()) + 2; {limit}"
    script.write_text(
        CLI.format(python=python, lib=str(folder), calls=calls, limited=limited, limit=limit, good=good)
    )
    script.chmod(0o755)
    keys = {"ANTHROPIC_API_KEY": "key", "OPENAI_API_KEY": "key", "CODEX_API_KEY": "key"}
    return {"PATH": f"{folder}{os.pathsep}{place.env()['PATH']}", "RALPH_CONFIRM": "1", **keys}


def words(place, name: str, *more: str) -> list[str]:
    given = ["loop", TASK, "--check", CHECK, "--agent", name, "--display", "plain"]
    return [*given, "--allow-write", str(place.top / "outside"), *more]


def test_a_claude_limit_is_waited_for(place):
    """`Claude AI usage limit reached|EPOCH`, three calls in a row: the loop waits each time and goes on."""
    good = 'say(type="result", subtype="success", is_error=False, result="done", modelUsage={})'
    env = installed(place, "claude", limit=CLAUDE, good=good, limited=3)
    done = place.ralph(*words(place, "claude", "--max-iterations", "1"), env=env)
    loop = place.expect(done, "verified", 0, 4, says="Claude AI usage limit reached")
    faults = [event.fault for event in done.all(e.AgentEnded)]
    assert [fault and fault.kind for fault in faults] == ["limit", "limit", "limit", None]
    assert loop.iteration == 1
    assert loop.spend.waited >= 2


@pytest.mark.soak
def test_a_codex_time_of_day_is_the_next_such_time(place):
    """`try again at 5:17 PM.`: the next 5:17 PM, past the time limit, which is said at once."""
    env = installed(place, "codex", limit=CODEX)
    done = place.ralph(*words(place, "codex", "--max-time", "30s"), env=env)
    place.expect(done, "exhausted", 1, 1, says="waiting would exceed the time limit")
    (ended,) = done.all(e.AgentEnded)
    assert ended.fault.kind == "limit"
    at = time.localtime(ended.fault.reset_at)
    assert (at.tm_hour, at.tm_min) == (17, 17) or ended.fault.reset_at - time.time() <= 60
    assert 0 < ended.fault.reset_at - time.time() <= 86_400


@pytest.mark.soak
def test_an_end_that_nobody_can_believe_is_unknown(place):
    """A limit that shall last a year is waited for like one without an end, and that is said."""
    line = f'{{"ralph": 1, "type": "limit", "message": "full", "reset_at": {time.time() + 366 * 86_400:.0f}}}'
    done = place.loop(f"echo '{line}'; exit 1", "--max-time", "60s")
    place.expect(done, "exhausted", 1, 1, says="limit: full (the end that it names is not believed)")
    assert done.all(e.AgentEnded)[0].fault.reset_at is None
