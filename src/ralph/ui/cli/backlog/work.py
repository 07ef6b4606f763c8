"""`ralph backlog run`: work through the items, with somebody watching or in the background."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import click

from ralph.ui.cli.backlog.group import HARNESS, backlog, desk_of
from ralph.ui.cli.loop_options import pick_options, setting_options, typed_settings


@backlog.command("run", short_help="Work through the backlog.")
@click.option("--once", is_flag=True, help="Make one attempt at one item, then stop.")
@click.option("--item", default="", metavar="ID", help="Make one attempt at this item.")
@click.option("--max-items", type=click.IntRange(0), default=0, metavar="N", help="Stop after N attempts.")
@click.option(
    "--parallel", type=click.IntRange(1, 16), default=1, metavar="N", help="Work on N items at the same time."
)
@click.option("-d", "--detach", is_flag=True, help="Run in the background.")
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
    from ralph.app.backlog.work.run import RunRequest, run_backlog
    from ralph.app.start import StartRequest

    desk = desk_of(given["harness_dir"])
    _approve(desk, yes=given["yes"])
    if given["detach"]:
        return _detach(desk)
    hands = _Hands(desk, given["display"])
    start = StartRequest(
        task="",
        cwd=desk.place.top,
        agent_cmd=given["agent_cmd"],
        allow_write=given["allow_write"],
        flags={**typed_settings(given), "--display": given["display"]},
    )
    most = 1 if given["once"] or given["item"] else given["max_items"]
    request = RunRequest(item=given["item"], max_items=most, parallel=given["parallel"], start=start)
    summary = run_backlog(desk, request, hands)
    print(_headline(summary))
    passed = [one for one in summary.recorded if one.result == "PASSED" and one.commit]
    if passed:
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
        require_approval(desk, opened.found)
    except NeedsHuman as asks:
        if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        print(f"{asks.what}:\n{asks.why}", file=sys.stderr)
        if not click.confirm("approve exactly these commands?", default=False, err=True):
            raise
        approve_typed(desk, opened.found)


def _detach(desk: Any) -> int:
    """The same command again, in a session of its own."""
    from ralph.app.place import log_path

    log = log_path("backlog", desk.env)
    words = [word for word in sys.argv[1:] if word not in ("-d", "--detach")]
    with open(log, "ab", opener=lambda p, f: os.open(p, f | os.O_NOFOLLOW, 0o600)) as out:
        started = subprocess.Popen(
            [sys.executable, "-m", "ralph.ui.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    print(f"working in the background, pid {started.pid}")
    print(f"  watch: tail -f {log}")
    print("  see: ralph backlog list, ralph status")
    return 0


class _Hands:
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
            mode=self._display or prepared.settings.people.display,
            as_json=False,
            min_free=started.min_free,
            most=started.max_loops,
            stint=started.stint,
            first=first,
            may_ask=False,
        )

    def resume(self, names: list[str]) -> None:
        """Several at the same time, each in a process of its own; Ctrl-C reaches them too, and they pause."""
        quiet = ["--display", "none"]
        children = [
            subprocess.Popen(
                [sys.executable, "-m", "ralph.ui.cli.main", "resume", name, *quiet],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for name in names
        ]
        for child in children:
            while True:
                try:
                    child.wait()
                    break
                except KeyboardInterrupt:
                    self.say("stopping: waiting for the loops to pause")
