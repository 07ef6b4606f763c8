"""`ralph resume`: go on with a loop that was paused, crashed, or ended without a verified result."""

from __future__ import annotations

import os
from typing import Any

import click

from ralph.core.text import units
from ralph.errors import UserError
from ralph.ui.cli.loop_options import detach_options
from ralph.ui.cli.option_groups import Number


@click.command(short_help="Continue a loop that stopped.")
@click.argument("loop", required=False)
@click.option("--last", is_flag=True, help="Resume the newest loop of this project that can continue.")
@click.option("--steer", default="", metavar="TEXT", help="Add a note to the next prompt.")
@click.option(
    "--done",
    "done",
    multiple=True,
    metavar="ITEM",
    help="Mark a plan item that you did yourself as done. Repeatable.",
)
@click.option(
    "--allow",
    "allow",
    multiple=True,
    metavar="ID=REASON",
    help="Waive a finding that waits for your decision. Repeatable.",
)
@click.option(
    "--allow-asked",
    "allow_asked",
    default="",
    metavar="KIND,…",
    help="Waive findings of these kinds when the agent asks.",
)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CMD",
    help="Add a check that fails on the base and must pass at the end. Repeatable.",
)
@click.option("--max-iterations", default="", metavar="+N", help="Allow N more iterations.")
@click.option("--max-time", default="", metavar="+TIME", help="Allow more time.")
@click.option("--max-cost", default="", metavar="+USD", help="Allow more cost.")
@click.option("--max-tokens", default="", metavar="+N", help="Allow N more tokens.")
@click.option("--agent", default="", metavar="NAME", help="Continue with another agent.")
@click.option("--agent-cmd", default="", metavar="CMD", help="Continue with any executable as the agent.")
@click.option(
    "--checkpoint", type=Number(0), metavar="N", help="Continue from this checkpoint; 0 is the base."
)
@detach_options
@click.option("--display", default="auto", type=click.Choice(("auto", "live", "plain", "none")))
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON lines; see docs/json.md.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def command(**given: Any) -> int:
    """Continue LOOP where it stopped, with its counters, spend and evidence.

    Verified, satisfied and aborted loops are final. To resume a loop that reached a limit, raise that limit.
    A stalled loop gets one iteration to make progress.

    --check adds a check that proves the task. Ralph runs it on the base first, then on the work so far. If it
    fails on the base and passes now, an unproven loop is verified without another agent call.

    \b
    Examples:
      ralph resume --last
      ralph resume fix-auth --allow "inventory.deleted:tests/test_a.py::test_old=it goes with its feature"
      ralph resume fix-auth --steer "the clock is in UTC" --max-iterations +5
      ralph resume fix-auth --check "python3 tools/login_twice.py"
      ralph resume fix-auth --checkpoint 2 --agent codex -d
    """
    from ralph.app.resume import last_to_resume, prepare_resume, raise_at_work, refuse_final
    from ralph.ui.ask.drive_loop import drive_and_show
    from ralph.ui.cli.pick_loop import loop_for

    env = dict(os.environ)
    name = last_to_resume(env, os.getcwd()) if given["last"] else loop_for("resume", given["loop"])
    refuse_final(name, env)
    request = _build_request(name, env, given)
    if raise_at_work(request, env):
        print(f"{name} is at work, and has more room now: ralph status {name}")
        return 0
    prepared = prepare_resume(request, env)
    if given["detach"] or given["queue"]:
        from ralph.ui.ask.detach import detach_and_show

        return detach_and_show(
            name,
            env,
            prepared,
            prepared.first,
            priority=given["priority"],
            queue=given["queue"],
            as_json=given["as_json"],
        )
    return drive_and_show(
        name,
        env,
        prepared,
        mode=given["display"],
        as_json=given["as_json"],
        first=prepared.first,
        may_ask=not given["yes"],
    )


def _build_request(name: str, env: dict[str, str], given: dict[str, Any]) -> Any:
    from ralph.app.resume import MoreRoom, ResumeRequest

    more = MoreRoom(
        iterations=int(_number(given["max_iterations"], "--max-iterations", units.parse_count)),
        seconds=float(_number(given["max_time"], "--max-time", units.parse_duration)),
        cost=float(_number(given["max_cost"], "--max-cost", units.parse_money)),
        tokens=int(_number(given["max_tokens"], "--max-tokens", units.parse_count)),
    )
    return ResumeRequest(
        loop=name,
        more=more,
        note=given["steer"],
        done=given["done"],
        allow=given["allow"],
        allow_asked=given["allow_asked"],
        checks=given["checks"],
        cwd=os.getcwd(),
        author=env.get("USER", ""),
        agent=given["agent"],
        agent_cmd=given["agent_cmd"],
        checkpoint=given["checkpoint"],
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
