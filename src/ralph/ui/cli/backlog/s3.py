"""The helpers that scripts call: JSON on stdout, exit codes 0, 1 and 2."""

from __future__ import annotations

import sys

import click

from ralph.ui.cli.backlog.group import HARNESS, backlog, desk_of, helper


@backlog.command("select", short_help="Print the next item as JSON, for scripts.")
@HARNESS
def select(harness_dir: str) -> int:
    """Print the next item as JSON. Exit code 0: selected, 1: no eligible item, 2: error.

    \b
    Example:
      ralph backlog select --harness-dir .claude/harness
    """
    from ralph.app.backlog.helpers import select_json

    return helper(lambda: select_json(desk_of(harness_dir)))


@backlog.command("attempt", short_help="Record an attempt, for scripts.")
@click.argument("item")
@click.argument("result", type=click.Choice(("PASSED", "FAILED", "IN_PROGRESS")))
@click.option("--run-id", default="", help="Id of the attempt (default: run-YYYYMMDD-HHMMSS).")
@click.option(
    "--commands", multiple=True, metavar="CMD", help="Command that was run. Repeatable, never split."
)
@click.option("--summary", default="", help="What came of it; needed for PASSED and FAILED.")
@click.option(
    "--commit", default="", metavar="REV", help="Commit that holds the work (PASSED: default HEAD)."
)
@click.option("--reverted", is_flag=True, help="The work was reverted.")
@click.option("--failure-reason", default="", help="Why it failed.")
@click.option("--investigation", default="", help="What was tried, why it failed, what to try next.")
@HARNESS
def attempt(item: str, result: str, harness_dir: str, **given: object) -> int:
    """Record an attempt at ITEM. PASSED runs the item's checks on the commit first, and is recorded only if
    they pass. Exit code 0: recorded, 1: not recorded, 2: error.

    \b
    Example:
      ralph backlog attempt FEAT-001 PASSED --summary "logs in" --commit HEAD
    """
    from ralph.app.backlog.helpers import AttemptRequest, record_attempt

    request = AttemptRequest(item=item, result=result, **given)  # type: ignore[arg-type]
    return helper(lambda: record_attempt(desk_of(harness_dir), request))


@backlog.command("increment", short_help="Count an attempt, for scripts.")
@click.argument("item")
@click.option("--block-on-max", is_flag=True, help="At the last attempt, mark the item BLOCKED.")
@click.option("--override-reason", "--reason", "reason", default="", help="Why it is blocked.")
@HARNESS
def increment(item: str, block_on_max: bool, reason: str, harness_dir: str) -> int:
    """Count one more attempt at ITEM. Exit code 0: counted or blocked, 1: at the cap, 2: error.

    \b
    Example:
      ralph backlog increment FEAT-001 --block-on-max --override-reason "the device is broken"
    """
    from ralph.app.backlog.helpers import increment as count

    return helper(lambda: count(desk_of(harness_dir), item, block_on_max=block_on_max, reason=reason))


@backlog.command("validate", short_help="Check the backlog, its evidence and its PRDs.")
@click.argument("item", required=False, default="")
@click.option("--strict", is_flag=True, help="Warnings count too.")
@click.option("--status", default="", metavar="STATUS", help="Results only of items with this status.")
@click.option("--accept", is_flag=True, help="Mark ITEM PASSING if its checks pass on HEAD already.")
@click.option("--reason", default="", help="Why that is accepted; needed with --accept.")
@HARNESS
def validate(item: str, strict: bool, status: str, accept: bool, reason: str, harness_dir: str) -> int:
    """Name everything that is wrong, each with its place, as JSON. Exit code 0: valid, 1: not, 2: unreadable.

    \b
    Examples:
      ralph backlog validate --strict
      ralph backlog validate FEAT-001 --accept --reason "done before there was a backlog"
    """
    from ralph.app.backlog import helpers
    from ralph.app.words.format import safe

    if accept and (not item or not reason):
        raise click.UsageError("--accept needs an item and a --reason")
    if accept:
        return helper(lambda: helpers.accept(desk_of(harness_dir), item, reason))

    def check() -> helpers.HelperAnswer:
        answer = helpers.validate(desk_of(harness_dir), item, strict=strict, status=status)
        for one in answer.body["problems"][:200]:
            if one["severity"] != "INFO":
                print(
                    safe(f"{one['severity'].lower()}: {one['pointer'] or '/'}: {one['message']}", 300),
                    file=sys.stderr,
                )
        return answer

    return helper(check)
