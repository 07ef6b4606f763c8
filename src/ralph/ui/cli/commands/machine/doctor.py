"""`ralph doctor`: check this machine, and what the sandbox really blocks."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ralph.app.upkeep import Look

ABSENT = "not installed"
MARKS = {"ok": "✔", "note": "·", "bad": "✘"}


@click.command(short_help="Check this machine and what the sandbox blocks.")
@click.option("--attack", is_flag=True, help="Attack the sandbox in about 70 named ways; show what held.")
@click.option("--box", is_flag=True, help="Show the table of what agents and checks may see and write.")
@click.option("--mend", is_flag=True, help="Remove locks that dead gits left, and repair the lists of loops.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(attack: bool, box: bool, mend: bool, as_json: bool) -> int:
    """Check git, the state directory and the agents, and test what the sandbox really blocks.

    \b
    Examples:
      ralph doctor
      ralph doctor --attack
      ralph doctor --box
      ralph doctor --mend
    """
    if attack:
        return _attack(as_json=as_json)
    if box:
        return _box(as_json=as_json)
    import msgspec

    from ralph.app.upkeep import look_at_machine
    from ralph.app.words.format import safe

    looks = look_at_machine(dict(os.environ), os.getcwd(), mend=mend)
    bad = [look for look in looks if look.state == "bad"]
    if as_json:
        print(json.dumps({"v": 1, "ok": not bad, "looks": [msgspec.to_builtins(look) for look in looks]}))
    else:
        absent = [look for look in looks if look.words == ABSENT]
        for look in looks:
            if look in absent:
                continue
            print(f"{MARKS[look.state]} {look.what:<16} {safe(look.words, 300)}".rstrip())
            if look.next:
                print(f"  {'':<16} next: {look.next}")
        if absent:
            names = ", ".join(look.what.removeprefix("agent ") for look in absent)
            print(f"{MARKS['note']} {'other agents':<16} {ABSENT}: {names}")
        print(_verdict(looks))
    return 4 if bad else 0


def _verdict(looks: list[Look]) -> str:
    """One line: can a loop be started here, and if not, what is in the way."""
    bad = next((look for look in looks if look.state == "bad"), None)
    if bad is not None:
        return f"not ready: {bad.what}; next: {bad.next or 'see above'}"
    level = next((look.words for look in looks if look.what == "sandbox"), "")
    cure = next((look.next for look in looks if look.what == "sandbox"), "")
    box = f"sandbox {level}" if level in ("S2", "S3") else f"no sandbox ({cure or level or 'not tried'})"
    ready = [
        look.what.removeprefix("agent ") for look in looks if look.state == "ok" and "agent " in look.what
    ]
    own = [name for name in ready if name not in ("command", "demo")]
    if not own:
        return f"ready for the demo agent, {box}; no coding agent is logged in: ralph agents list"
    return f"ready: {', '.join(own)}, {box}"


def _attack(*, as_json: bool) -> int:
    """What was tried, what held, and the level that follows: one leak, and there is no sandbox."""
    import msgspec

    from ralph.app.upkeep import attack_sandbox

    done = attack_sandbox(dict(os.environ))
    bad = bool(done.leaks or done.reason)
    if as_json:
        rows = [msgspec.to_builtins(one) for one in done.outcomes]
        print(
            json.dumps({"v": 1, "ok": not bad, "reason": done.reason, "level": done.level, "attempts": rows})
        )
        return 4 if bad else 0
    group = ""
    for one in sorted(done.outcomes, key=lambda one: (one.group, one.attempt, one.who)):
        if one.group != group:
            group = one.group
            print(group)
        known = "open, as chosen" if one.group == "network" else "open to root here"
        mark, word = (MARKS["ok"], "held") if one.held else (MARKS["note"], known)
        if not one.held and one.expected:
            mark, word = MARKS["bad"], "OPEN"
        print(f"  {mark} {one.who:<6} {one.attempt:<17} {word:<18} {one.words}")
    held = sum(one.held for one in done.outcomes)
    print(f"{held} of {len(done.outcomes)} attempts held, {len(done.leaks)} did not that had to")
    if done.reason:
        print(f"{MARKS['bad']} {done.reason}")
    print(f"level {done.level}" + (": agents and checks have your own rights" if done.level == "S0" else ""))
    return 4 if bad else 0


def _box(*, as_json: bool) -> int:
    import msgspec

    from ralph.app.upkeep import boxes_of
    from ralph.app.words.format import safe, table

    rows = boxes_of(dict(os.environ), os.getcwd())
    if as_json:
        print(json.dumps({"v": 1, "rows": [msgspec.to_builtins(row) for row in rows]}))
        return 0
    cells = [(row.who, row.access, safe(row.path, 200), safe(row.why, 200)) for row in rows]
    print("\n".join(table([("who", "access", "path", "why"), *cells])))
    print("what is not in this table does not exist in a box; --sandbox none has no box at all")
    return 0
