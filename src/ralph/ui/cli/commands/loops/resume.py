"""`ralph resume`: go on with a loop that was paused, crashed, or ended without a verified result."""

from __future__ import annotations

import os
from typing import Any

import click

from ralph.core.text import units
from ralph.errors import UserError


@click.command(short_help="Go on with a loop that stopped.")
@click.argument("loop", required=False)
@click.option("--last", is_flag=True, help="The newest loop of this project that can go on.")
@click.option("--steer", default="", metavar="TEXT", help="A note that joins the next prompt.")
@click.option(
    "--done", "done", multiple=True, metavar="ITEM", help="An item of the plan that you have done yourself."
)
@click.option(
    "--allow", "allow", multiple=True, metavar="ID=REASON", help="Waive a finding that was asked about."
)
@click.option(
    "--allow-asked",
    "allow_asked",
    default="",
    metavar="KIND,…",
    help="Waive these kinds when the agent asks.",
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CMD",
    help="A further check, CMD or NAME=CMD, to be red at the base and green in the end; repeatable.",
)
@click.option("--max-iterations", default="", metavar="+N", help="So many iterations more.")
@click.option("--max-time", default="", metavar="+4h", help="So much time more.")
@click.option("--max-cost", default="", metavar="+USD", help="So much money more.")
@click.option("--max-tokens", default="", metavar="+N", help="So many tokens more.")
@click.option("--display", default="auto", type=click.Choice(("auto", "live", "plain", "none")))
@click.option("--json", "as_json", is_flag=True, help="Event lines on stdout; see docs/json.md.")
@click.option("-y", "--yes", is_flag=True, help="Never ask.")
def command(**given: Any) -> int:
    """Go on with LOOP where its record stands: counters, spend and evidence are kept.

    Verified, satisfied and aborted loops are final. A loop that used up a limit needs room: raise that limit.
    A stalled one gets exactly one iteration to show that it can go on.

    --check adds what would prove the task: it is judged at the base first, then on the work that is there. An
    unproven loop whose new check was red before and is green now is verified without another agent call.

    \b
    Examples:
      ralph resume --last
      ralph resume fix-auth --allow "inventory.deleted:tests/test_a.py::test_old=it goes with its feature"
      ralph resume fix-auth --steer "the clock is in UTC" --max-iterations +5
      ralph resume fix-auth --check "python3 tools/login_twice.py"
    """
    from ralph.app.resume import MoreRoom, ResumeRequest, loop_to_resume, prepare_resume, refuse_final
    from ralph.ui.ask.drive_loop import drive_and_show

    env = dict(os.environ)
    name = loop_to_resume("" if given["last"] else given["loop"], env, os.getcwd())
    refuse_final(name, env)
    more = MoreRoom(
        iterations=int(_number(given["max_iterations"], "--max-iterations", units.parse_count)),
        seconds=float(_number(given["max_time"], "--max-time", units.parse_duration)),
        cost=float(_number(given["max_cost"], "--max-cost", units.parse_money)),
        tokens=int(_number(given["max_tokens"], "--max-tokens", units.parse_count)),
    )
    request = ResumeRequest(
        loop=name,
        more=more,
        note=given["steer"],
        done=given["done"],
        allow=given["allow"],
        allow_asked=given["allow_asked"],
        checks=given["checks"],
        cwd=os.getcwd(),
        author=env.get("USER", ""),
    )
    prepared = prepare_resume(request, env)
    return drive_and_show(
        name,
        env,
        mode=given["display"],
        as_json=given["as_json"],
        min_free=prepared.min_free,
        most=prepared.max_loops,
        first=prepared.first,
        may_ask=not given["yes"],
    )


def _number(text: str, flag: str, parse: Any) -> Any:
    if not text:
        return 0
    try:
        return parse(text.removeprefix("+"))
    except ValueError as error:
        raise UserError(
            f"{flag} is '{text}': expected {error}", code="E-USAGE", next="ralph resume --help"
        ) from None
