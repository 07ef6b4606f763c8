"""How fast each adapter reads its CLI's stream, beside reading the bytes, and the memory it takes for 200 MB.

The streams are those recorded from the real CLIs (tests/agents/recorded), one after another as often as it
takes. Measured is the accounting after a call: the whole output through a new parser. Live reading makes a
fact of each event and is told beside it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from measuring import MEGABYTE, Line, interleaved, quiet
from memory import AIM as MEMORY_AIM

from ralph.agents import load
from ralph.agents._kit.lines import Intake
from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion
from ralph.core.model.order import Order
from ralph.core.model.spend import Limits

PART = "parse"
AIM = 5.0  # seconds for 100 MB above reading them: a call of an hour prints a few of them
CALLS = ("success", "several", "tool-fails")  # those with work in them, not those that end at once
CLIS = ("claude", "codex", "gemini", "goose", "opencode", "copilot", "qwen", "acp-goose")
HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(os.path.dirname(HERE), "tests", "agents", "recorded")
ORDER = Order("x", "t", "/repo", Criterion("custom", ()), Limits(), SealedAgent("x"))


def measure(quick: bool) -> list[Line]:
    size, rounds = (20, 3) if quick else (100, 5)
    found: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="ralph-bench-") as folder:
        for cli in CLIS:
            path = os.path.join(folder, cli)
            _write(cli, path, size * MEGABYTE)
            found.append(_speed(cli, path, size, rounds))
            os.unlink(path)
        found.append(_memory(folder, 50 if quick else 200))
    return found


def _write(cli: str, path: str, size: int) -> None:
    block = b""
    folder = os.path.join(RECORDED, cli)
    for name in CALLS:
        with open(os.path.join(folder, f"{name}.jsonl"), "rb") as file:
            block += file.read().rstrip(b"\n") + b"\n"
    with open(path, "wb") as file:
        file.writelines(block for _ in range(size // len(block) + 1))


def _speed(cli: str, path: str, size: int, rounds: int) -> Line:
    floors, bulks = interleaved(rounds, lambda: _read(path, None), lambda: _read(path, cli))
    floor, bulk = quiet(floors), quiet(bulks)
    live = size / _read(path, cli, live=True)
    return Line(
        part=PART,
        what=f"{cli}: {size} MB (live {live:.0f} MB/s)",
        floor=size / floor,
        ralph=size / bulk,
        unit="MB/s",
        value=(bulk - floor) * 100 / size,
        value_unit="s/100MB",
        aim=AIM,
    )


def _read(path: str, cli: str | None, *, live: bool = False) -> float:
    """Seconds of this core to read a file in pieces, and to parse it when a CLI is named."""
    intake = Intake(load(cli).stream(ORDER)) if cli else None
    began = time.process_time()
    with open(path, "rb") as file:
        while chunk := file.read(MEGABYTE):
            if intake is not None and live:
                intake.feed(chunk)
            elif intake is not None:
                intake.absorb(chunk)
    if intake is not None:
        intake.finish(0, "exited")
    return time.process_time() - began


def _memory(folder: str, size: int) -> Line:
    """The largest of all adapters, each in a process of its own."""
    peaks = []
    for cli in CLIS:
        path = os.path.join(folder, cli)
        _write(cli, path, size * MEGABYTE)
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), cli, path], stdout=subprocess.PIPE, check=True
        )
        peaks.append(json.loads(done.stdout))
        os.unlink(path)
    peak = max(peaks) / 1024
    return Line(
        part=PART,
        what=f"{size} MB of events: memory, largest of all",
        ralph=peak,
        unit="MB",
        value=peak,
        value_unit="MB",
        aim=MEMORY_AIM,
    )


if __name__ == "__main__":
    _read(sys.argv[2], sys.argv[1])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
