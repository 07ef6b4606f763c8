"""`ralph doctor`: check this machine, and what the sandbox really blocks."""

from __future__ import annotations

import json
import os

import click

MARKS = {"ok": "✔", "note": "·", "bad": "✘"}


@click.command(short_help="Check this machine and what the sandbox blocks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> int:
    """Check git, the state directory and the agents, and test what the sandbox really blocks.

    \b
    Example:
      ralph doctor
    """
    import msgspec

    from ralph.app.upkeep import look_at_machine
    from ralph.app.words.format import safe

    looks = look_at_machine(dict(os.environ), os.getcwd())
    bad = [look for look in looks if look.state == "bad"]
    if as_json:
        print(json.dumps({"v": 1, "ok": not bad, "looks": [msgspec.to_builtins(look) for look in looks]}))
    else:
        for look in looks:
            print(f"{MARKS[look.state]} {look.what:<16} {safe(look.words, 300)}".rstrip())
            if look.next:
                print(f"  {'':<16} next: {look.next}")
    return 4 if bad else 0
