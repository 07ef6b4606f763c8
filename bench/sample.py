"""The sample project, its agent, its check, and a private place to measure them in.

The agent adds one unit a call; the check is one unittest that names the first missing unit, so every
iteration changes the tree and the error, and no stall rule fires. The floor is a bash loop around the
very same two command lines. What is measured with all this is in the other files.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from msgspec import Struct

from ralph.core.model.events import AgentStarted, AnyEvent
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import load

PYTHON = sys.executable  # of the agent, the check and Ralph alike
RALPH = os.path.join(os.path.dirname(sys.executable), "ralph")
CHECK = f"{shlex.quote(PYTHON)} -m unittest -q test_units"
FOLDERS = 10
DIGITS = "00000000"  # at the end of each loop's name, so that it is known beforehand

# Letters only: numbers are taken out of an error before two of them are compared.
NAME = 'def name(number):\n    return "".join(chr(97 + number // 26**power % 26) for power in (2, 1, 0))\n'
AGENT = f"""import sys
{NAME}
prompt = sys.stdin.read()
with open("units.txt", "a+") as file:
    file.seek(0)
    unit = name(len(file.readlines()))
    file.write(unit + chr(10))
print(f"read {{len(prompt)}} characters, added unit {{unit}}")
"""
TEST = f"""import unittest
{NAME}

with open("units.txt") as file:
    HAVE = set(file.read().split())


class Units(unittest.TestCase):
    pass


def are_there(units):
    return lambda self: self.assertEqual([unit for unit in units if unit not in HAVE][:1], [])


# Every few iterations one more is green, or the loop would rightly be called stalled. Not one test a unit: to
# print a thousand failures would cost more than all that is measured.
for number in range(0, WANTED, 15):
    units = [name(one) for one in range(number, min(number + 15, WANTED))]
    setattr(Units, f"test_{{units[0]}}", are_there(units))
"""
FLOOR = """
for ((n = 0; n < WANTED; n++)); do
  echo "$EPOCHREALTIME"
  AGENT < ../prompt.md > ../agent.out 2>&1
  CHECK > ../check.out 2>&1 && break
done
echo "$EPOCHREALTIME"
"""


class Place(Struct, frozen=True):
    """A folder of its own with a private home and state, and the environment that names them."""

    root: str
    env: dict[str, str]

    @property
    def state(self) -> str:
        return self.env["RALPH_STATE_DIR"]

    @property
    def repo(self) -> str:
        return os.path.join(self.root, "project")

    @property
    def agent(self) -> str:
        return f"{shlex.quote(PYTHON)} {shlex.quote(os.path.join(self.root, 'agent.py'))}"


@contextmanager
def place() -> Iterator[Place]:
    """A private place, gone afterwards."""
    root = tempfile.mkdtemp(prefix="ralph-bench-")
    dropped = ("GIT_", "RALPH_", "PYTHON", "XDG_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    env |= {"HOME": os.path.join(root, "home"), "RALPH_STATE_DIR": os.path.join(root, "state")}
    os.mkdir(env["HOME"])
    try:
        yield Place(root, env)
    finally:
        shutil.rmtree(root)


def make_project(here: Place, files: int, wanted: int) -> None:
    """A repository of that many files whose check is green once `wanted` units are there."""
    for number in range(files - 2):
        folder = os.path.join(here.repo, "src", f"part{number % FOLDERS}", f"room{number // 1000}")
        lines = (f"def f{number}_{line}(x):\n    return x + {number * line}\n" for line in range(20))
        write_file(os.path.join(folder, f"m{number}.py"), "\n\n".join(lines))
    write_file(os.path.join(here.repo, "units.txt"), "")
    write_file(os.path.join(here.repo, "test_units.py"), f"WANTED = {wanted}\n{TEST}")
    write_file(os.path.join(here.root, "agent.py"), AGENT)
    write_file(os.path.join(here.root, "prompt.md"), "Add the missing units.\n" * 100)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "sample"]):
        subprocess.run([*git, *words], cwd=here.repo, env=here.env, check=True)


def write_file(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def ralph_command(here: Place, task: str, name: str, check: str, *more: str, agent: str = "") -> list[str]:
    words = ["loop", task, "--loop-id", f"{name}-{DIGITS}", "--check", check, "--display", "none"]
    return [RALPH, *words, "--agent-cmd", agent or here.agent, "-y", *more]


def loop_command(here: Place, name: str, iterations: int, *more: str, agent: str = "") -> list[str]:
    most = ("--max-iterations", str(iterations))
    return ralph_command(here, "add the missing units", name, CHECK, *most, *more, agent=agent)


def ralph_loop(here: Place, name: str, iterations: int, *, agent: str = "") -> list[AnyEvent]:
    """One whole loop by the command line, and the facts it recorded."""
    argv = loop_command(here, name, iterations, agent=agent)
    done = subprocess.run(argv, cwd=here.repo, env=here.env, capture_output=True, check=False, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"ralph loop ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return facts(here, name)


def facts(here: Place, name: str) -> list[AnyEvent]:
    with read_journal(here.state) as reader:
        return list(load(reader, f"{name}-{DIGITS}").events)


def ralph_iterations(events: list[AnyEvent]) -> list[float]:
    """Seconds from one agent call to the next: call, snapshot, checkpoint, judgement, decision, prompt."""
    starts = [event.at for event in events if isinstance(event, AgentStarted)]
    return [after - before for before, after in pairwise(starts)]


def floor_iterations(here: Place, iterations: int, name: str = "floor") -> list[float]:
    """The same agent and the same check in a bash loop: seconds of each turn."""
    script = FLOOR.replace("WANTED", str(iterations)).replace("AGENT", here.agent).replace("CHECK", CHECK)
    copy = os.path.join(here.root, name)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(here.repo, copy)
    done = subprocess.run(
        ["bash", "-c", script], cwd=copy, env=here.env, capture_output=True, check=True, text=True
    )
    return [float(after) - float(before) for before, after in pairwise(done.stdout.split())]
