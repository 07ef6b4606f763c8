"""`ralph approve`: the user's word on commands that a repository brings."""

from __future__ import annotations

import os

import click

from ralph.clock import SystemClock


@click.command(short_help="Approve commands defined by a repository.")
@click.argument("digest", required=False, metavar="HASH")
@click.option("--list", "listing", is_flag=True, help="List what is approved and what is waiting.")
def command(digest: str | None, listing: bool) -> int:
    """Approve what was shown under HASH: a repository's checks, agents, setup, shares or environment.

    The hash covers exactly those items; if a command changes, Ralph asks again.

    \b
    Example:
      ralph approve 3f9a1c0d5e6b7a88
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
    if digest is None:
        raise UserError("expected the hash that was shown", code="E-USAGE", next="ralph approve --list")
    approval = approve(digest, os.environ)
    for line in approval_lines(approval):
        print(f"  {safe(line, 400)}")
    print(f"approved {approval.short}")
    return 0
