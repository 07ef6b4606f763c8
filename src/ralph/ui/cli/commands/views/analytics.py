"""`ralph analytics`: what iterations came to and cost, how agents did, and how much is left."""

from __future__ import annotations

import os
from typing import Any

import click

from ralph.ui.cli.backlog.group import print_json

NO_ADVICE = ("", "no recommendations: nothing in the record calls for a change")
BARS = "▁▂▃▄▅▆▇█"


@click.command(short_help="Show what iterations achieved and cost.")
@click.argument("loop", required=False)
@click.option("--all", "every", is_flag=True, help="All loops of all projects, by agent and model.")
@click.option("--since", default="", metavar="AGE", help="Loops of this project that were active since then.")
@click.option("--calibration", is_flag=True, help="Score earlier forecasts against what came.")
@click.option(
    "--recommend", is_flag=True, help="Say what to change, with the facts it rests on; without LOOP over all."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; see docs/json.md.")
def command(
    loop: str | None, every: bool, since: str, calibration: bool, recommend: bool, as_json: bool
) -> int:
    """Show LOOP iteration by iteration: checks, tokens, cost and time, with a forecast while it runs.

    With --all or --since, compare agents and models: how often verified, what a verified task costs, and how
    often "done" was refused. What is not known is shown as unknown. With --recommend, also what their records
    call for, computed from facts alone; without LOOP, over the loops of this project.

    \b
    Examples:
      ralph analytics fix-auth
      ralph analytics --since 7d
      ralph analytics --all --calibration
      ralph analytics --recommend
    """
    from ralph.app.views.analytics import analyse_loop, analyse_many, by_agent
    from ralph.app.words.format import safe
    from ralph.ui.cli.pick_loop import loop_to_show

    env = dict(os.environ)
    if loop is not None or not (every or since or calibration or recommend):
        one = analyse_loop(loop_to_show(loop), env, os.getcwd())
        if as_json:
            print_json(_with_advice(one.analytics, one.recommendations if recommend else None))
            return 0
        print(*_loop_lines(one.analytics), sep="\n")
        if recommend:
            advice = [safe(words, 500) for words in one.recommendations]
            print("\n".join(["", *advice] if advice else NO_ADVICE))
        return 0
    many = analyse_many(env, os.getcwd(), every=every, since=since, recommend=recommend)
    groups, score = by_agent(many.loops), many.calibration
    if as_json:
        plain = {"v": 1, "agents": groups, "models": many.costs, "loops": many.loops, "calibration": score}
        print_json(_with_advice(plain, many.recommendations if recommend else None))
        return 0
    for line in [*_group_lines(groups), *_cost_lines(many.costs)]:
        print(line)
    if calibration:
        held = f"{score.inside} of {score.forecasts}" if score.forecasts else "none made yet"
        error = "" if score.error is None else f", off by {score.error:.1f} iterations on average"
        print(f"forecasts whose interval held the truth: {held}{error}")
    if recommend:
        print("\n".join(_advice_lines(many.recommendations, len(many.loops))))
    return 0


def _with_advice(value: Any, advice: Any) -> Any:
    import msgspec

    return value if advice is None else {**msgspec.to_builtins(value), "recommendations": advice}


def _advice_lines(patterns: Any, loops: int) -> list[str]:
    """Each with how many loops call for it, and the newest one's facts."""
    from ralph.app.words.format import plural, safe

    lines = [""] if patterns else [*NO_ADVICE]
    for one in patterns:
        newest = f"{one.loops[0]}: {one.why}" if one.why else one.loops[0]
        lines += [
            safe(f"{one.what} ({len(one.loops)} of {plural(loops, 'loop')})", 300),
            f"  {safe(newest, 500)}",
        ]
    return lines


def chart(values: list[float | None]) -> str:
    """A small chart; a dot where nothing is known."""
    known = [value for value in values if value is not None]
    top = max(known, default=0.0)
    return "".join(
        "·" if value is None else BARS[min(7, int(8 * value / top))] if top else BARS[0] for value in values
    )


def _loop_lines(found: Any) -> list[str]:
    from ralph.app.words.format import clock, dollars, safe, table, thousands

    rows = [("it", "agent", "red", "quality", "lines", "tokens", "cost", "agent time", "checks", "said")]
    for one in found.lines:
        red = (
            "unknown"
            if one.red is None
            else f"{one.red_before}→{one.red}"
            if one.red_before is not None
            else str(one.red)
        )
        rows.append(
            (
                str(one.iteration),
                safe(one.agent, 20),
                red,
                "unknown" if one.quality is None else f"{one.quality:.0f}",
                str(one.lines),
                "unknown" if one.tokens is None else thousands(one.tokens),
                "unknown" if one.cost is None else dollars(one.cost),
                clock(one.agent_seconds),
                clock(one.gate_seconds),
                one.fault or one.claimed or "",
            )
        )
    lines = [f"{found.loop}  {found.outcome or found.phase}: {safe(found.reason, 200)}".rstrip(": ")]
    lines += table(rows, "  ")
    lines.append(f"  quality  {chart([one.quality for one in found.lines])}")
    lines.append(f"  cost     {chart([one.cost for one in found.lines])}")
    words = [f"trajectory {found.trajectory}"]
    words += [f"best iteration {found.best}"] if found.best else []
    words += ["returns diminish"] if found.diminishing else []
    words += [f"{found.lies} claims of done refused"] if found.lies else []
    lines.append("  " + " · ".join(words))
    made = found.forecast
    if made is not None:
        cost = (
            "cost unknown"
            if made.cost is None
            else f"about {dollars(made.cost)} ({dollars(made.cost_low)} to {dollars(made.cost_high)})"
        )
        lines.append(f"  forecast  {made.iterations} more iterations ({made.low} to {made.high}), {cost}")
    return lines


def _group_lines(groups: list[Any]) -> list[str]:
    from ralph.app.words.format import dollars, safe, table

    rows = [("agent", "model", "loops", "verified", "cost per verified task", "claims refused")]
    for one in groups:
        cost = "unknown" if one.cost_per_verified is None else dollars(one.cost_per_verified)
        rows.append(
            (
                safe(one.agent, 30),
                safe(one.model, 30) or "default",
                str(one.loops),
                f"{one.verified} ({100 * one.verified // max(1, one.loops)} %)",
                cost,
                str(one.lies),
            )
        )
    return table(rows) if groups else ["no loops"]


def _cost_lines(costs: Any) -> list[str]:
    """What was spent by agent, model and role; calls that did not tell are counted apart."""
    from ralph.app.words.format import cost_words, safe, table, thousands

    rows = [("spent on", "model", "role", "calls", "tokens", "cost")]
    for one in costs:
        cost = cost_words(one.cost, one.unknown, one.calls, estimated=one.estimated)
        tokens = "unknown" if one.tokens is None else thousands(one.tokens)
        model = safe(one.model, 30) or "default"
        rows.append(
            (safe(one.agent, 30), model, one.role, str(one.calls), tokens, cost.removeprefix("cost "))
        )
    return ["", *table(rows)] if costs else []
