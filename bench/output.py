"""200 MB from one agent call, as plain text and as JSON lines, beside reading them through a pipe."""

import os
import shlex
import subprocess
import time

from measuring import MEGABYTE, Line, interleaved, quiet
from memory import AIM as MEMORY_AIM
from memory import peak_of
from sample import AGENT, Place, facts, loop_command, make_project, place

from ralph.core.model.events import AgentEnded, AgentStarted

PART = "output"
AIM = 0.5  # seconds
LINES = {  # a hundred characters of text; a record of about five hundred, as streams of coding CLIs have them
    "text": "word " * 20 + "\\n",
    "json": '{"ralph": 1, "type": "text", "text": "' + "word " * 95 + '"}\\n',
}


def measure(quick: bool) -> list[Line]:
    size, rounds = (50, 3) if quick else (200, 9)
    found: list[Line] = []
    with place() as here:
        make_project(here, 100, 1000)
        for kind, line in LINES.items():
            found += _kind(here, kind, line, size, rounds)
    return found


def _kind(here: Place, kind: str, line: str, size: int, rounds: int) -> list[Line]:
    script = os.path.join(here.root, f"{kind}.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"{AGENT}\nblock = ('{line}' * 640).encode()\n")
        file.write(f"for _ in range({size * MEGABYTE} // len(block)):\n    sys.stdout.buffer.write(block)\n")
    agent = here.agent.replace(shlex.quote(os.path.join(here.root, "agent.py")), shlex.quote(script))
    numbers, peaks = iter(range(rounds)), list[int]()

    def ralph() -> float:
        name = f"{kind}-{next(numbers)}"
        peaks.append(peak_of(loop_command(here, name, 1, agent=agent), here))
        events = facts(here, name)
        began = next(event.at for event in events if isinstance(event, AgentStarted))
        ended = next(event for event in events if isinstance(event, AgentEnded))
        if ended.exit_code != 0:
            raise SystemExit(f"the agent of '{name}' ended with {ended.exit_code}")
        return ended.at - began

    floors, ralphs = interleaved(rounds, lambda: _through_a_pipe(here, agent, size), ralph)
    floor, seconds, peak = quiet(floors), quiet(ralphs), max(peaks) / MEGABYTE
    what = f"{size} MB of {kind} from one call"
    return [
        Line(
            part=PART,
            what=what,
            floor=floor * 1000,
            ralph=seconds * 1000,
            unit="ms",
            value=seconds - floor,
            value_unit="s above",
            aim=AIM,
        ),
        Line(
            part=PART,
            what=f"{what}: memory",
            ralph=peak,
            unit="MB",
            value=peak,
            value_unit="MB",
            aim=MEMORY_AIM,
        ),
    ]


def _through_a_pipe(here: Place, agent: str, size: int) -> float:
    """As fast as it goes: a wide pipe, one buffer, nothing kept."""
    began, total, buffer = time.monotonic(), 0, bytearray(MEGABYTE)
    with subprocess.Popen(
        shlex.split(agent),
        cwd=here.repo,
        env=here.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        pipesize=MEGABYTE,
    ) as child:
        assert child.stdout is not None
        while got := os.readv(child.stdout.fileno(), [buffer]):
            total += got
    seconds = time.monotonic() - began
    if child.returncode or total < size * MEGABYTE * 0.99:
        raise SystemExit(f"the agent wrote {total} bytes and ended with {child.returncode}")
    return seconds
