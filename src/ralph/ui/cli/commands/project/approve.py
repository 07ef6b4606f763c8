"""`ralph approve`: the user's word on commands that a repository brings, and on loops that wait for it."""

from __future__ import annotations

import os
import re

import click

from ralph.clock import SystemClock


@click.command(short_help="Approve commands of a repository, or a loop that waits.")
@click.argument("what", required=False, metavar="HASH|LOOP")
@click.option("--list", "listing", is_flag=True, help="List what is approved and what is waiting.")
def command(what: str | None, listing: bool) -> int:
    """Approve what was shown under HASH: a repository's checks, agents, setup, shares or environment.

    The hash covers exactly those items; if a command changes, Ralph asks again. With `approve = ["start",
    "land"]` in the configuration a loop waits for LOOP to be approved before it starts, and its result before
    it is merged.

    \b
    Examples:
      ralph approve 3f9a1c0d5e6b7a88
      ralph approve fix-auth
    """
    from ralph.app.settings import approval_lines, approve, list_approvals
    from ralph.app.words.format import ago, safe
    from ralph.errors import UserError

    if listing:
        for record in list_approvals(os.environ):
            word = "approved" if record.approved else "waiting"
            print(
                record.approval.short,
                word,
                ago(SystemClock().now() - record.at),
                safe(record.approval.repo),
                sep="  ",
            )
        return 0
    if what is None:
        raise UserError(
            "expected a hash or a loop that was shown", code="E-USAGE", next="ralph approve --list"
        )
    if not re.fullmatch(r"[0-9a-f]{8,64}", what):
        return _approve_loop(what)
    approval = approve(what, os.environ)
    for line in approval_lines(approval):
        print(f"  {safe(line, 400)}")
    print(f"approved {approval.short}")
    return 0


def _approve_loop(text: str) -> int:
    from ralph.app.people.approve import approve_loop
    from ralph.app.place import find_loop

    name = find_loop(text, os.environ)
    point, loop = approve_loop(name, os.environ, author=os.environ.get("USER", ""))
    if point == "land":
        print(f"approved: {loop.landing.result[:12]} may land\n  merge  ralph merge {name}")
    else:
        print(f"approved: {name} may start\n  start  ralph resume {name}\n  or     ralph resume {name} -d")
    return 0
