"""What a final proof takes in runs of the suite, by the wall clock: from the last agent call to the end.

Suites of three sizes, each of ten files that keep one core busy, compared with a bare run of the same suite
before and after, in the same minutes. Measured twice: a test of the user's turns green; and the agent brings
a feature with a test of its own, which asks for a witness and sabotage too.
"""

import os
import shlex
import subprocess
import time
from collections.abc import Iterator

from measuring import Line, median
from sample import PYTHON, Place, facts, place, ralph_command, write_file

from ralph.core.model.events import AgentEnded, AgentStarted, AnyEvent, LoopEnded, WorkspaceMade

PART = "proof"
FILES, TESTS = 10, 5
# Plugins of this interpreter are for Ralph's own tests, and take longer to load than a small suite.
CHECK = f"env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(PYTHON)} -m pytest -q -p no:cacheprovider"
AIMS = {0.3: 8.0, 5.0: 3.0, 60.0: 3.0}  # suite runs, by the seconds that a suite takes

PRODUCT = "def double(number):\n    return number * {factor}\n"
HALF = "\n\ndef half(number):\n    return number // 2\n"
SUITE = """import time

import pytest

from product import double


@pytest.mark.parametrize("number", range(1, {tests} + 1))
def test_double(number):
    until = time.process_time() + {seconds}
    while time.process_time() < until:
        pass
    assert double(number) == {expected}
"""
OWN_TEST = "from product import half\n\n\ndef test_half():\n    assert half(8) == 4\n"
CLAIM = """---RALPH_STATUS---
STATUS: COMPLETE
EXIT_SIGNAL: true
---END_RALPH_STATUS---"""
AGENT = """import sys
sys.stdin.read()
for path, text in {files!r}.items():
    with open(path, "w") as file:
        file.write(text)
print({claim!r})
"""
KINDS = {
    "test of the user's": ("fix double: it must give twice its number", 3, {}),
    "test of the agent's": ("add a function half to product.py", 2, {"test_half.py": OWN_TEST}),
}


def measure(quick: bool) -> Iterator[Line]:
    for seconds, aim in AIMS.items():
        if quick and seconds > 5:
            continue
        rounds = 1 if quick or seconds > 5 else 3
        for kind in KINDS:
            found = [_round(seconds, kind) for _ in range(rounds)]
            floor, judged, begun = (median(values) for values in zip(*found, strict=True))
            yield _line(f"last judgement, {seconds:g} s, {kind}", floor, judged, aim)
            yield _line(f"both baselines, {seconds:g} s, {kind}", floor, begun, aim)


def _line(what: str, floor: float, ralph: float, aim: float) -> Line:
    return Line(
        part=PART,
        what=what,
        floor=floor * 1000,
        ralph=ralph * 1000,
        unit="ms",
        value=ralph / floor,
        value_unit="x",
        aim=aim,
    )


def _round(seconds: float, kind: str) -> tuple[float, float, float]:
    """Seconds of a bare suite run, of the last judgement and of the baselines."""
    task, factor, added = KINDS[kind]
    with place() as here:
        _make_project(here, seconds, factor, added)
        before = _bare_run(here)
        events = _loop(here, task)
        after = _bare_run(here)
    ended = max(event.at for event in events if isinstance(event, AgentEnded))
    whole = next(event for event in events if isinstance(event, LoopEnded))
    if whole.outcome != "verified":
        raise SystemExit(f"the loop of {kind} ended {whole.outcome}: {whole.reason}")
    began = next(event.at for event in events if isinstance(event, WorkspaceMade))
    called = next(event.at for event in events if isinstance(event, AgentStarted))
    return (before + after) / 2, whole.at - ended, called - began


def _make_project(here: Place, seconds: float, factor: int, added: dict[str, str]) -> None:
    each = seconds / (FILES * TESTS)
    for number in range(FILES):
        expected = "number * 2" if number == 0 or factor == 2 else "double(number)"
        text = SUITE.format(tests=TESTS, seconds=each, expected=expected)
        write_file(os.path.join(here.repo, f"test_{number}.py"), text)
    write_file(os.path.join(here.repo, "product.py"), PRODUCT.format(factor=factor))
    done = {"product.py": PRODUCT.format(factor=2) + (HALF if added else ""), **added}
    write_file(os.path.join(here.root, "agent.py"), AGENT.format(files=done, claim=CLAIM))
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "sample"]):
        subprocess.run([*git, *words], cwd=here.repo, env=here.env, check=True)


def _bare_run(here: Place) -> float:
    """The suite as its user would run it, red or green."""
    began = time.monotonic()
    subprocess.run(
        shlex.split(CHECK),
        cwd=here.repo,
        env={**here.env, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )
    return time.monotonic() - began


def _loop(here: Place, task: str) -> list[AnyEvent]:
    argv = ralph_command(here, task, "proof", CHECK)
    done = subprocess.run(argv, cwd=here.repo, env=here.env, capture_output=True, check=False, text=True)
    if done.returncode != 0:
        raise SystemExit(f"ralph loop ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return facts(here, "proof")
