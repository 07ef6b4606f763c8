"""`ralph worker`: the process that keeps background loops going."""

from __future__ import annotations

import os
import signal
import sys

import click


@click.group(short_help="Keep background loops going.")
def command() -> None:
    """Start, stop and look at the worker, which keeps the loops of `ralph loop -d` going.

    It starts queued loops when there is a place for them, and takes up a loop whose runner died, also after a
    reboot if it ran less than 24 hours ago. What you paused or aborted stays so. `-d` starts a worker when
    there is none; one started like that ends by itself when there is nothing left to look after.

    \b
    Examples:
      ralph worker status
      ralph worker install
    """


@command.command("start", short_help="Start the worker.")
@click.option("--foreground", is_flag=True, help="Stay in this terminal instead of going to the background.")
@click.option("--linger", is_flag=True, help="End by itself ten minutes after the last background loop.")
def start(foreground: bool, linger: bool) -> int:
    """Start the worker of this user, if there is none.

    \b
    Example:
      ralph worker start
    """
    from ralph.app.background.worker import run_worker, start_worker, worker_state

    env = dict(os.environ)
    if not foreground:
        running = worker_state(env).pid
        pid = running or start_worker(env, stay=True)
        print(f"worker {'is running already' if running else 'started'}: pid {pid}")
        return 0
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda found, _frame: stopping.append(found))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    run_worker(env, stopping, _tell, linger=linger)
    return 0


def _tell(text: str) -> None:
    from ralph.app.words.format import safe, stamp
    from ralph.clock import SystemClock

    print(f"{stamp(SystemClock().now())}  {safe(text, 500)}", file=sys.stderr, flush=True)


@command.command("stop", short_help="Stop the worker; loops at work go on.")
def stop() -> int:
    """Stop the worker. Loops at work go on to their end; queued ones wait, and a dead runner stays dead.

    \b
    Example:
      ralph worker stop
    """
    from ralph.app.background.worker import stop_worker

    print(f"worker {stop_worker(dict(os.environ))} stopped; loops at work go on")
    return 0


@command.command("status", short_help="Show the worker and its loops.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; see docs/json.md.")
def status(as_json: bool) -> int:
    """Show whether a worker is running, and how many background loops there are.

    \b
    Example:
      ralph worker status --json
    """
    from ralph.app.background.worker import worker_state
    from ralph.app.words.format import ago, iso
    from ralph.clock import SystemClock

    found = worker_state(dict(os.environ))
    if as_json:
        import json

        since = iso(found.since) if found.pid else None
        print(json.dumps({"v": 1, "pid": found.pid or None, "since": since, "loops": found.counts}))
        return 0
    loops = " · ".join(f"{count} {word}" for word, count in sorted(found.counts.items())) or "no loops"
    if found.pid:
        print(f"worker pid {found.pid}, started {ago(SystemClock().now() - found.since)}: {loops}")
        return 0
    print(f"no worker is running: {loops} in the background")
    if found.counts:
        print("  start  ralph worker start")
    return 0


@command.command("logs", short_help="Show what the worker did.")
@click.option("-n", "lines", default=40, show_default=True, metavar="N", help="Show the last N lines.")
def logs(lines: int) -> int:
    """Show the worker's log: which runners it started, how they ended, and what it left alone.

    \b
    Example:
      ralph worker logs -n 100
    """
    from ralph.app.background.worker import worker_log
    from ralph.app.words.format import safe_lines

    try:
        with open(worker_log(dict(os.environ)), encoding="utf-8", errors="replace") as file:
            told = file.read().splitlines()
    except FileNotFoundError:
        told = []
    for line in told[-lines:] if lines > 0 else told:
        print(safe_lines(line))
    if not told:
        print("no worker has run here yet")
    return 0


@command.command("install", short_help="Write a systemd user unit for the worker.")
@click.option("--print", "only_print", is_flag=True, help="Print the unit instead of writing it.")
def install(only_print: bool) -> int:
    """Write a systemd user unit that starts the worker at login, and say how to enable it.

    \b
    Example:
      ralph worker install --print
    """
    from ralph.app.background.worker import worker_unit

    path, text = worker_unit(dict(os.environ))
    if only_print:
        print(text, end="")
        return 0
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"wrote {path}\n  read it              systemctl --user daemon-reload")
    print("  enable it            systemctl --user enable --now ralph-worker")
    print("  without a login too  loginctl enable-linger")
    return 0


@command.command("drive", hidden=True)
@click.argument("loop")
@click.option("--resume", is_flag=True)
def drive(loop: str, resume: bool) -> int:
    """Drive one background loop to its next pause or end; what the worker starts.

    \b
    Example:
      ralph worker drive fix-auth-7f3a91c2
    """
    from ralph.ui.ask.detach import drive_hosted

    return drive_hosted(loop, dict(os.environ), resume=resume)
