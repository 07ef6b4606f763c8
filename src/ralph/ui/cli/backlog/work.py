"""`ralph backlog run`: work through the items, with somebody watching or in the background."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import Any

import click

from ralph.errors import Busy, RalphError
from ralph.ui.cli.backlog.group import HARNESS, backlog, desk_of
from ralph.ui.cli.loop_options import pick_options, setting_options, typed_settings
from ralph.ui.cli.option_groups import Number
from ralph.ui.cli.streams import on_terminal


@backlog.command("run", short_help="Work through the backlog.")
@click.option("--once", is_flag=True, help="Make one attempt at one item, then stop.")
@click.option("--item", default="", metavar="ID", help="Make one attempt at this item.")
@click.option("--max-items", type=Number(0), default=0, metavar="N", help="Stop after N attempts.")
@click.option(
    "--parallel",
    type=Number(1, 16),
    default=1,
    metavar="N",
    help="Work on N items in parallel (1 to 16).",
)
@click.option("-d", "--detach", is_flag=True, help="Run in the background.")
@click.option("--hosted", default="", hidden=True, metavar="DIR")
@pick_options("--agent-cmd", "--allow-write")
@setting_options
@pick_options("--display", "--yes")
@HARNESS
def run(**given: Any) -> int:
    """Work on one item after the other, in their order, each in a loop of its own.

    An item that passes becomes one commit on the branch ralph/backlog; work that fails is set aside under
    refs/ralph. After as many failed attempts as its cap allows, an item is BLOCKED. Items that passed before
    are verified again, and reopened if something broke them.

    \b
    Examples:
      ralph backlog run --once --agent claude
      ralph backlog run --parallel 3
    """
    if given["hosted"]:
        os.chdir(given["hosted"])
    desk = desk_of(given["harness_dir"])
    _approve(desk, yes=given["yes"] or bool(given["hosted"]))
    from ralph.app.backlog.work.background import done_before, end_order, is_ordered
    from ralph.app.backlog.work.run import RunRequest, run_backlog
    from ralph.app.start import StartRequest

    start = StartRequest(
        task="",
        cwd=desk.place.top,
        agent_cmd=given["agent_cmd"],
        allow_write=given["allow_write"],
        flags={**typed_settings(given), "--display": given["display"]},
    )
    most = 1 if given["once"] or given["item"] else given["max_items"]
    done = done_before(desk) if given["hosted"] else 0
    request = RunRequest(
        item=given["item"], max_items=most, parallel=given["parallel"], start=start, done=done
    )
    if given["detach"] and not given["hosted"]:  # its words may hold -d in any spelling
        return _detach(desk, request, given["harness_dir"])
    if given["hosted"] and not is_ordered(desk):
        return 0  # stopped before it began
    hands = _Hosted(desk) if given["hosted"] else _Hands(desk, given["display"])
    try:
        summary = run_backlog(desk, request, hands)
    except RalphError as error:
        if given["hosted"] and not isinstance(error, Busy):  # else another process works on the order
            end_order(desk)
        raise
    if given["hosted"]:  # what was ordered has been done: nobody starts it again
        end_order(desk)
    print(_headline(summary))
    if any(one.result == "PASSED" and one.commit != one.base for one in summary.recorded):
        print(f"next: git merge --ff-only {summary.branch}")
    return summary.exit_code


def _headline(summary: Any) -> str:
    from ralph.app.words.format import plural, safe

    passed = sum(one.result == "PASSED" for one in summary.recorded)
    failed = sum(one.result == "FAILED" for one in summary.recorded)
    parts = [f"{passed} passed, {plural(failed, 'failed attempt')}"] if summary.recorded else []
    parts += [f"{len(summary.broken)} reopened"] if summary.broken else []
    parts += [f"{name} passed over: {safe(why, 200)}" for name, why in summary.skipped.items()]
    parts += [summary.message] if summary.message else []
    return "; ".join(parts) or "nothing to do"


def _approve(desk: Any, *, yes: bool) -> None:
    """What the backlog would have executed is shown and approved once, when somebody can answer."""
    from ralph.app.backlog.approve import approve_typed, require_approval
    from ralph.app.backlog.desk import choose
    from ralph.errors import NeedsHuman

    opened = desk.read()
    choose(desk, opened)
    try:
        require_approval(desk, opened.found, config=False)
    except NeedsHuman as asks:
        if yes or not on_terminal():
            raise
        print(f"{asks.what}:\n{asks.why}", file=sys.stderr)
        if not click.confirm("approve exactly these commands?", default=False, err=True):
            raise
        approve_typed(desk, opened.found)


def _detach(desk: Any, request: Any, harness_dir: str) -> int:
    from ralph.app.backlog.work.background import order_run

    words = sys.argv[sys.argv.index("run") + 1 :]
    kept = tuple(word for word in words if word not in ("-d", "--detach"))
    made = order_run(desk, request, kept, os.getcwd())
    here = f" --harness-dir {shlex.quote(harness_dir)}" if harness_dir else ""
    print(f"working through the backlog in the background, pid {made.pid}")
    for word, line in (
        ("status", f"ralph backlog list{here}"),
        ("loops", "ralph status"),
        ("log", f"tail -f {made.log}"),
        ("stop", f"ralph backlog stop{here}"),
    ):
        print(f"  {word:<7} {line}")
    return 0


@backlog.command("stop", short_help="Stop a run, and pause its loops.")
@HARNESS
def stop(harness_dir: str) -> int:
    """Stop the run that works through the backlog, here or in the background, and pause its loops.

    Nothing is lost: the next `ralph backlog run` goes on with them.

    \b
    Example:
      ralph backlog stop
    """
    from ralph.app.backlog.work.background import stop_run

    paused = stop_run(desk_of(harness_dir))
    print("; paused ".join(("stopped", *paused)))
    return 0


class _Hands:
    """Loops in this terminal."""

    queue = False

    def __init__(self, desk: Any, display: str | None) -> None:
        self._desk, self._display = desk, display

    def say(self, text: str) -> None:
        from ralph.app.words.format import safe

        print(safe(text, 500), file=sys.stderr, flush=True)

    def drive(self, started: Any, prepared: Any) -> None:
        from ralph.ui.ask.drive_loop import drive_and_show
        from ralph.ui.ask.start_loop import approve_start

        first = approve_start(prepared, started, self._desk.env, may_ask=True)
        drive_and_show(
            started.name,
            self._desk.env,
            started,
            mode=self._display or prepared.settings.people.display,
            first=first,
            may_ask=False,
            alone=True,
        )

    def resume(self, names: list[str]) -> None:
        """Several at the same time, each in a process of its own; Ctrl-C reaches them too, and they pause."""
        from ralph.app.backlog.work.hosted import wait_for_loops

        command = [sys.executable, "-m", "ralph.ui.cli.main", "resume"]
        none = subprocess.DEVNULL
        children = [
            subprocess.Popen([*command, name, "--display", "none"], stdin=none, stdout=none, stderr=none)
            for name in names
        ]
        for child in children:
            while True:
                try:
                    child.wait()
                    break
                except KeyboardInterrupt:
                    self.say("stopping: waiting for the loops to pause")
        wait_for_loops(names, self._desk.env)  # those that the worker drives


class _Hosted(_Hands):
    """Loops of the background: handed over to the worker, and waited for."""

    queue = True

    def __init__(self, desk: Any) -> None:
        super().__init__(desk, "none")

    def drive(self, started: Any, prepared: Any) -> None:  # noqa: ARG002 - its screen is not here
        self._host([started.name], started.stint)

    def resume(self, names: list[str]) -> None:
        self._host(names, None)

    def _host(self, names: list[str], stint: Any) -> None:
        from ralph.app.backlog.work.hosted import host_loop, wait_for_loops

        places = self._desk.settings.places
        for name in names:
            host_loop(name, self._desk.env, stint, places.max_loops, places.max_loops_machine)
        wait_for_loops(names, self._desk.env)
