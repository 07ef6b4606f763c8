"""200 MB from one agent call, as plain text and as JSON lines, beside reading them through a pipe.

The keeper alone is measured by its processor time, beside that of the reader: lines, and one line of 100 MB.
"""

import os
import shlex
import subprocess
import time
from contextlib import suppress

from measuring import MEGABYTE, Line, interleaved, quiet, typical_ratio
from memory import AIM as MEMORY_AIM
from memory import peak_of
from sample import AGENT, PYTHON, Place, facts, loop_command, make_project, place

from ralph.core.model.events import AgentEnded, AgentStarted
from ralph.shell.process import client

PART = "output"
AIM = 0.5  # seconds
KEEPER_AIM = 5.0  # times the processor time of a reader that keeps nothing
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
        found.append(_keeper(here, f"{size} MB of lines", LINES["text"], size, rounds))
        found.append(_keeper(here, f"one line of {size // 2} MB", "word ", size // 2, rounds))
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


def _keeper(here: Place, what: str, line: str, size: int, rounds: int) -> Line:
    """The processor time of a keeper that owns such a call, beside that of a reader of the same bytes."""
    script = f"import sys\nblock = b'{line}' * 640\nfor _ in range({size * MEGABYTE} // len(block)):\n"
    argv = (PYTHON, "-I", "-S", "-c", f"{script}    sys.stdout.buffer.write(block)\n")
    numbers = iter(range(rounds))

    def keeper() -> float:
        folder = os.path.join(here.root, f"keeper-{size}-{next(numbers)}")
        return _keeper_seconds(folder, argv, here.repo)

    def reader() -> float:
        began = time.process_time()
        _through_a_pipe(here, shlex.join(argv), size)
        return time.process_time() - began

    floors, keepers = interleaved(rounds, reader, keeper)
    return Line(
        part=PART,
        what=f"the keeper's own CPU: {what}",
        floor=quiet(floors) * 1000,
        ralph=quiet(keepers) * 1000,
        unit="ms",
        value=typical_ratio(keepers, floors),
        value_unit="x",
        aim=KEEPER_AIM,
    )


def _keeper_seconds(folder: str, argv: tuple[str, ...], cwd: str) -> float:
    """Its start is no part of it: that is paid once a call, whatever comes out."""
    env = {"PATH": os.defpath}
    call = client.start_call(folder, client.CallSpec(argv=argv, env=env, cwd=cwd, wall_seconds=600.0))
    seen: list[int] = []
    while not client.poll([call], 0.005):
        with suppress(OSError), open(f"/proc/{call.keeper_pid}/schedstat", encoding="ascii") as file:
            spent = int(file.read().split()[0])
            if os.path.exists(os.path.join(folder, "out")):
                seen.append(spent)
    if call.ended is None or call.ended.exit_code != 0:
        raise SystemExit(f"the keeper's call ended as {call.ended}")
    return (seen[-1] - seen[0]) / 1e9


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
