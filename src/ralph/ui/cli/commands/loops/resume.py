"""`ralph resume`: go on with a loop that was paused, crashed, or ended without a verified result."""

from __future__ import annotations

import os
from typing import Any

import click

from ralph.errors import NothingToDo, UserError
from ralph.shell.files import units


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

    \b
    Examples:
      ralph resume --last
      ralph resume fix-auth --allow "inventory.deleted:tests/test_a.py::test_old=it goes with its feature"
      ralph resume fix-auth --steer "the clock is in UTC" --max-iterations +5
    """
    from ralph.core.model.outcome import FINAL
    from ralph.ui.ask.drive_loop import drive_and_show

    env = dict(os.environ)
    name, loop = _choose_loop(given)
    if loop.phase == "ended" and loop.outcome in FINAL:
        raise NothingToDo(
            f"loop '{name}' is {loop.outcome}, which is final",
            code="E-LOOP-FINAL",
            next=f"ralph report {name}",
        )
    settings = _settings(env, loop.sealed.repo)
    return drive_and_show(
        name,
        env,
        mode=given["display"],
        as_json=given["as_json"],
        min_free=settings.retention.min_free,
        most=settings.max_loops,
        first=_first(loop, given),
        may_ask=not given["yes"],
    )


def _choose_loop(given: dict[str, Any]) -> tuple[str, Any]:
    """The loop that was named, else the newest of this project that can go on."""
    from ralph.core.model.outcome import RESUMABLE
    from ralph.shell.journal.record import choose_loop, find_loop, load
    from ralph.ui.ask.place import journal_here, project_here

    with journal_here() as reader:
        if given["loop"] and not given["last"]:
            name = find_loop(reader, given["loop"])
            return name, load(reader, name).loop
        for row in reader.summaries(project_here()):
            if row.phase != "ended" or row.outcome in RESUMABLE:
                return row.loop, load(reader, row.loop).loop
        name = choose_loop(reader, None, project_here())
        raise NothingToDo(
            "every loop here is verified or aborted", code="E-LOOP-NONE", next=f"ralph status {name}"
        )


def _first(loop: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    """What is recorded before driving: the asking itself, raised limits, the note."""
    from ralph.core.model.events import ResumeAsked, Steered

    author = os.environ.get("USER", "")
    raised = ResumeAsked(
        author=author,
        more_iterations=int(_number(given["max_iterations"], "--max-iterations", units.parse_count)),
        more_time=float(_number(given["max_time"], "--max-time", units.parse_duration)),
        more_cost=float(_number(given["max_cost"], "--max-cost", units.parse_money)),
        more_tokens=int(_number(given["max_tokens"], "--max-tokens", units.parse_count)),
        done=_by_hand(loop, given["done"]),
        **_waivers(given),
    )
    told = [f"allowed from now on: {key} ({why})" for key, why in raised.allow.items()]
    told += [given["steer"]] if given["steer"] else []
    note = (Steered(text="; ".join(told), author=author),) if told else ()
    if loop.phase in ("paused", "ended"):
        return (raised, *note)
    if raised != ResumeAsked(author=author):
        raise UserError(
            "limits, waivers and items done by hand are taken only when a loop is paused or has ended",
            code="E-RESUME-LIMITS",
            why=f"it is {loop.phase}: take it up first",
            next=f"ralph resume {loop.sealed.loop}",
        )
    return note


def _waivers(given: dict[str, Any]) -> dict[str, Any]:
    """The user's word on findings, held to the rules of the options that start a loop."""
    from ralph.shell.config.schema import FLAGS
    from ralph.shell.config.values import parse_text, parse_words

    try:
        allow = parse_words(FLAGS["--allow"], list(given["allow"])) if given["allow"] else {}
        kinds = str(parse_text(FLAGS["--allow-asked"], given["allow_asked"])) if given["allow_asked"] else ""
    except ValueError as error:
        raise UserError(
            f"--allow and --allow-asked: expected {error}", code="E-USAGE", next="ralph resume --help"
        ) from None
    return {"allow": allow, "allow_asked": tuple(filter(None, kinds.split(",")))}


def _by_hand(loop: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Items that a human has done: only those that the plan leaves to a human."""
    items = {item.id: item for item in loop.build.plan.items} if loop.build is not None else {}
    for name in names:
        if name not in items or not items[name].human:
            left = ", ".join(item.id for item in items.values() if item.human) or "none"
            raise UserError(
                f"'{name}' is not an item that the plan leaves to a human",
                code="E-RESUME-ITEM",
                why=f"such items here: {left}; any other is ticked by Ralph alone",
                next=f"ralph plan --show {loop.sealed.loop}",
            )
    return names


def _number(text: str, flag: str, parse: Any) -> Any:
    if not text:
        return 0
    try:
        return parse(text.removeprefix("+"))
    except ValueError as error:
        raise UserError(
            f"{flag} is '{text}': expected {error}", code="E-USAGE", next="ralph resume --help"
        ) from None


def _settings(env: dict[str, str], repo: str) -> Any:
    """What counts for this stint: what the loop itself obeys was sealed when it began."""
    from ralph.shell import config
    from ralph.shell.state.directory import config_dir

    user_dir = config_dir(env)
    try:
        return config.load(cwd=repo, top=repo, env=env, flags={}, user_dir=user_dir)
    except UserError:  # of the project's file since then: a loop that began goes on without it
        return config.load(cwd=os.getcwd(), top=None, env=env, flags={}, user_dir=user_dir)
