"""`ralph demo`: a sample project, a scripted agent, and a false "done" that is refused."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import click

from ralph.clock import SystemClock

if TYPE_CHECKING:
    from ralph.app.start import Started

CHECK = "tests=python3 -m unittest -v"
TASK = "make the tests of the todo list pass"


@click.command(short_help="Watch Ralph work on a sample project.")
@click.option(
    "--fail", "fails", is_flag=True, help="Show an agent that only claims to be done; the loop ends stalled."
)
@click.option("--crash", is_flag=True, help="Kill the runner halfway and watch the loop resume.")
@click.option(
    "--pace",
    default=0.4,
    show_default=True,
    metavar="SECONDS",
    help="Delay between the demo agent's actions.",
)
@click.option("--display", default="auto", type=click.Choice(("auto", "live", "plain", "none")))
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON lines; see docs/json.md.")
def command(fails: bool, crash: bool, pace: float, display: str, as_json: bool) -> int:
    """Make a sample project in a temporary folder and let the built-in demo agent work on it.

    The demo agent is scripted and needs no key and no network. It uses the same runner, sandbox, checks and
    journal as any other agent. In its second iteration it claims to be done when it is not.

    \b
    Examples:
      ralph demo
      ralph demo --crash
    """
    from ralph.ui.ask.demo_project import make_project

    folder = os.path.join(tempfile.mkdtemp(prefix="ralph-demo-"), "todo")
    os.mkdir(folder)
    make_project(folder)
    print(f"a sample project with two failing tests: {folder}", file=sys.stderr)
    script = "liar" if fails else "honest"
    if crash:
        return _crash(folder, script, max(pace, 0.4), display, as_json=as_json)
    return _loop(folder, script, pace, display, as_json=as_json)


def _start_loop(folder: str, script: str, pace: float) -> Started:
    from ralph.app.start import StartRequest, prepare_start, start

    request = StartRequest(
        task=TASK,
        cwd=folder,
        checks=(CHECK,),
        flags={"agent": "demo"},
        loop_id="todo",
        agent_settings={"script": script, "pace": str(pace)},
    )
    return start(prepare_start(request, _env()), _env())


def _env() -> dict[str, str]:
    """The demo must not depend on settings of the place it is started from."""
    env = dict(os.environ)
    if shutil.which("python3", path=env.get("PATH")) is None:
        base = os.path.dirname(os.path.realpath(sys.executable))  # what Ralph's own environment rests on
        env["PATH"] = os.pathsep.join((base, env.get("PATH", os.defpath)))
    return env


def _loop(folder: str, script: str, pace: float, display: str, *, as_json: bool) -> int:
    from ralph.ui.ask.drive_loop import drive_and_show

    env = _env()
    made = _start_loop(folder, script, pace)
    code = drive_and_show(
        made.name, env, made, mode=display, as_json=as_json, may_ask=False, min_free=0, alone=True
    )
    return 0 if code == (1 if script == "liar" else 0) else code or 1


def _crash(folder: str, script: str, pace: float, display: str, *, as_json: bool) -> int:
    """The loop in a child process that is killed without warning; then the same loop, resumed here."""
    from ralph.app.resume import ResumeRequest, prepare_resume
    from ralph.ui.ask.drive_loop import drive_and_show

    env = _env()
    made = _start_loop(folder, script, pace)
    name = made.name
    made.stint.release()
    argv = [
        sys.executable,
        "-m",
        "ralph",
        "resume",
        name,
        "--display",
        "plain" if display != "none" else "none",
    ]
    with subprocess.Popen(argv, env=env, stdout=sys.stderr) as child:
        _wait_for_call(env, name, 2, child)
        SystemClock().sleep(pace / 2)
        child.send_signal(signal.SIGKILL)
    print(
        "\nkilled the runner with SIGKILL while the agent was at work; resuming the same loop\n",
        file=sys.stderr,
    )
    room = prepare_resume(ResumeRequest(loop=name), env)
    return drive_and_show(
        name, env, room, mode=display, as_json=as_json, may_ask=False, min_free=0, alone=True
    )


def _wait_for_call(env: dict[str, str], name: str, call: int, child: subprocess.Popen[bytes]) -> None:
    from ralph.app.records import read_loop

    while child.poll() is None:
        loop = read_loop(name, env).loop
        if loop.call.running and loop.call.number >= call:
            return
        SystemClock().sleep(0.02)
