"""Helpers for tests that start calls: specs at either level, and an independent count of living processes."""

import os
import shutil
import sys
import tempfile
import time
import uuid
from functools import cache
from pathlib import Path

from ralph.shell.process.client import CallSpec
from ralph.shell.sandbox import probe, tools
from ralph.shell.sandbox.bubblewrap import Box, box_command

HERE = Path(__file__).parent
AGENT = str(HERE / "agent.py")
PYTHON = os.path.realpath(sys.executable)
BWRAP = shutil.which("bwrap")
LEVELS = ("bare", "box") if BWRAP else ("bare",)
HOME = os.path.expanduser("~")


@cache
def becomes_other_user():
    """Are root's boxes somebody else's here, as those of a loop would be?"""
    with tempfile.TemporaryDirectory() as folder:
        return probe.probe_levels(folder, home=HOME, bwrap=BWRAP).other_user


def spec(level, tmp_path, *argv, env=None, **words):
    """A call of `argv` at a level, with a mark of its own in the environment: (spec, mark)."""
    mark = "TRIAL=" + uuid.uuid4().hex
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    box = Box(
        kind="gate",
        workspace=str(work),
        mount_at=str(work),
        home=HOME,
        read=(*tools.prefixes(PYTHON, path=os.defpath, home=HOME, repo=str(work)), str(HERE)),
        other_user=level == "box" and os.getuid() == 0 and becomes_other_user(),
    )
    built = box_command(box, argv, bwrap=BWRAP if level == "box" else None)
    given = {"wall_seconds": 30.0, "grace_seconds": 0.3, **words}
    whole = {"PATH": os.defpath, "TRIAL": mark.partition("=")[2], **(env or {})}
    call = CallSpec(
        argv=built.argv,
        env=whole,
        cwd=built.cwd,
        method=built.method,
        box_args=built.box_args,
        other_user=built.other_user,
        **given,
    )
    return call, mark


def agent(level, tmp_path, way, arg="", **words):
    return spec(level, tmp_path, PYTHON, "-I", "-S", AGENT, way, str(arg), **words)


def living(mark):
    """Pids that carry the mark and are not zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark.encode() not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            state = (entry / "stat").read_text(errors="replace").rsplit(")", 1)[1].split()[0]
        except (OSError, IndexError):
            continue
        if state not in "ZX":
            found.append(int(entry.name))
    return found


def until(condition, seconds=60.0):
    """Wait for a condition; its last value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return value


def ready(folder, word=b"ready"):
    out = Path(folder) / "out"
    return until(lambda: out.exists() and word in out.read_bytes())
