"""`ralph attach`: look on at a loop from any terminal, and steer it by keys."""

from __future__ import annotations

import os
import subprocess
import sys

import click


@click.command(short_help="Watch a running loop from any terminal.")
@click.argument("loop", required=False)
@click.option("--display", default="auto", type=click.Choice(("auto", "live", "plain")))
def command(loop: str | None, display: str) -> int:
    """Show LOOP live, by default the newest one at work in this project, with its agent's output.

    Keys: p pauses after this iteration, s leaves a note for the next one, d shows the diff, l the log; q and
    Ctrl-C only leave this view. The loop does not notice who looks on.

    \b
    Example:
      ralph attach fix-auth
    """
    from ralph.app.background.attach import look_on
    from ralph.app.place import active_loop
    from ralph.clock import SystemClock
    from ralph.ui.display import make_watcher
    from ralph.ui.display.keys import Keys

    env = dict(os.environ)
    name = active_loop(loop, env, os.getcwd())
    with make_watcher(display, as_json=False, stdout=sys.stdout, stderr=sys.stderr, env=env) as watcher:
        if hasattr(watcher, "hint"):
            watcher.hint = "p pause  s note  d diff  l log  q leave"
        try:
            with Keys() as keys:
                found = look_on(name, env, watcher, SystemClock(), lambda: _obey(name, env, keys, watcher))
        except KeyboardInterrupt:
            found = None
    if found is None or found.phase not in ("ended", "paused"):
        print(f"left {name}; it goes on: ralph attach {name}", file=sys.stderr)
    return 0


def _obey(name: str, env: dict[str, str], keys: object, watcher: object) -> bool:
    """What a key asks for; True to leave."""
    from ralph.ui.display import Display
    from ralph.ui.display.keys import Keys

    assert isinstance(keys, Keys)
    key = keys.read_key()
    if key in ("q", "\x03", "\x04"):
        return True
    if key == "p":
        from ralph.app.tell import pause_loop

        pause_loop(name, env)
    elif key in ("s", "d", "l"):
        view: Display = watcher  # type: ignore[assignment]
        reopen = getattr(view, "open_region", None)
        getattr(view, "release", lambda: None)()
        with keys.aside():
            _ask_note(name, env) if key == "s" else _show(name, {"d": "diff", "l": "logs"}[key])
        if reopen is not None:
            reopen()
    return False


def _ask_note(name: str, env: dict[str, str]) -> None:
    from ralph.app.tell import steer_loop

    try:
        text = input("note for the next iteration> ").strip()
    except (EOFError, KeyboardInterrupt):
        return
    if text:
        steer_loop(name, text, env, author=env.get("USER", ""))


def _show(name: str, verb: str) -> None:
    subprocess.run([sys.executable, "-m", "ralph", verb, name], check=False)
