"""`ralph status`: all loops of this project in a table, or one loop in detail.

Reads the journal's summaries only, with nothing else alive and without writing. Starts in milliseconds:
no rich, no core, no git here.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import lru_cache
from typing import Any

import msgspec

from ralph.app.place import project_of
from ralph.app.views.rows import (
    WORDS,
    ListRow,
    cells,
    elapsed_seconds,
    json_row,
    newest_rows,
    numbered_name,
    one_row,
    shown_word,
    steps,
)
from ralph.app.words.format import (
    GOOD,
    MERGE_WORDS,
    ago,
    asked_words,
    clock,
    cost_words,
    iso,
    role_spend_words,
    safe,
    short,
    table,
    thousands,
)
from ralph.clock import SystemClock

LIMIT = 20


def show(
    loop: str | None = None,
    *,
    every: bool = False,
    limit: int = LIMIT,
    as_json: bool = False,
    quiet: bool = False,
    since: float = 0.0,
) -> int:
    """What the command does; `ralph status` alone comes here without waiting for click."""
    if loop is not None:
        row = one_row(loop, os.environ, os.getcwd())
        _print_one(row, as_json=as_json, quiet=quiet)
        return 4 if row.word == "damaged" else 0
    repo = None if every else project_of(os.getcwd())
    rows, counts, more = newest_rows(os.environ, repo, limit, since)
    if as_json:
        _print_json(rows, counts, truncated=more > 0)
    elif quiet:
        for row in rows:
            print(row.name)
    else:
        _print_table(rows, counts, more, repo)
    return 0


def overview() -> int:
    """`ralph` without arguments: this project's loops, or how to begin."""
    repo = project_of(os.getcwd())
    rows, counts, more = newest_rows(os.environ, repo, LIMIT)
    if rows:
        _print_table(rows, counts, more, repo)
        return 0
    print("no loops here yet\n")
    print("  see it work     ralph demo\n  check this box  ralph doctor")
    print('  start           ralph loop "make the tests pass" --check "npm test"')
    return 0


def _print_table(rows: list[ListRow], counts: Counter[str], more: int, repo: str | None) -> None:
    if not rows:
        where = f" in '{safe(repo)}'" if repo else ""
        print(f"no loops{where}")
        print("  see all  ralph status --all" if repo else '  start  ralph loop "…" --check "…"')
        return _print_backlog(repo)
    now = SystemClock().now()
    print(" · ".join(f"{counts[word]} {word}" for word in _sort_words(counts)))
    print(*table([cells(row, now, with_repo=repo is None) for row in rows]), sep="\n")
    if more:
        print(f"{more} more: ralph status {'' if repo else '--all '}--limit 0")
    urgent = next((row for row in rows if row.word in ("crashed", "damaged", "blocked", "paused")), rows[0])
    print(*table(steps(urgent, _name_here(urgent))[:2], "  "), sep="\n")
    return _print_backlog(repo)


def _print_backlog(repo: str | None) -> None:
    from ralph.app.backlog.line import backlog_line

    line = backlog_line(repo, os.getcwd(), os.environ)
    if line:
        print(f"{line}  (ralph backlog list)")


def _sort_words(counts: Counter[str]) -> list[str]:
    known = [word for word in WORDS if word in counts]
    return known + sorted(word for word in counts if word not in WORDS)


def _print_json(rows: list[ListRow], counts: Counter[str], *, truncated: bool) -> None:
    _dump(
        {
            "v": 1,
            "as_of": iso(SystemClock().now()),
            "counts": {word: counts[word] for word in _sort_words(counts)},
            "loops": [json_row(row) for row in rows],
            "truncated": truncated,
            "next": [step.command for step in steps(rows[0])] if rows else ["ralph demo"],
        }
    )


def _dump(value: dict[str, Any]) -> None:
    print(msgspec.json.encode(value).decode())


def _print_one(row: ListRow, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        _print_json([row], Counter([row.word]), truncated=False)
    elif quiet:
        print(row.name)
    else:
        print(*details(row, SystemClock().now()), sep="\n")


def details(row: ListRow, now: float) -> list[str]:
    """One loop on a screen; every line says something that is known, or that it is not."""
    lines = [f"{numbered_name(row)}  {shown_word(row)}  {ago(now - row.updated)}"]
    body = row.body
    facts: list[tuple[str, str]] = []
    if row.trouble:
        facts.append(("damaged", safe(row.trouble)))
    if body:
        facts += _facts(row, body, now)
    lines += table(facts, "  ")
    for line in body.get("verdicts", ()):
        lines.append(_gate_line(line))
    lines += [f"  alert      {safe(sentence, 300)}" for sentence in _breaker(body).get("alerts", ())]
    lines += _judge_lines(body)
    lines += _team_lines(body)
    lines += _plan_lines(body)
    asked = [one for one in body.get("asked", ()) if not one.get("accuses")]
    lines += [f"  asked      {safe(asked_words(one['key'], one['says']), 300)}" for one in asked]
    lines += [f"  not yet    {safe(sentence, 300)}" for sentence in body.get("not_yet", ())]
    lines += [f"  unproven   {safe(sentence, 300)}" for sentence in body.get("unproven", ())]
    return lines + table(steps(row, _name_here(row)), "  ")


def _name_here(row: ListRow) -> str:
    """What to type for it: its number in its own repository."""
    return str(row.number or "") if row.body and row.body["repo"] == project_of(os.getcwd()) else ""


def _plan_lines(body: dict[str, Any]) -> list[str]:
    plan = body.get("plan")
    if not plan:
        return []
    counts = f"{plan['done']} of {plan['total']} items verified"
    if plan["blocked"]:
        counts += f", {plan['blocked']} blocked"
    item = f" {safe(plan['item'], 60)}" if plan["item"] else ""
    why = f": {safe(plan['why'], 200)}" if plan["why"] else ""
    return [f"  plan       {plan['mode']}{item}{why}", f"             {counts}"]


def _facts(row: ListRow, body: dict[str, Any], now: float) -> list[tuple[str, str]]:
    limits, spend = body["limits"], body["spend"]
    limit = limits["iterations"]
    facts = [
        ("task", safe(body["task"], 300)),
        ("where", f"{safe(body['repo'])}  base {short(body.get('base', ''))}"),
        ("phase", row.word + (f" (grade {body['grade']})" if body.get("grade") else "")),
        ("why", safe(body.get("reason", ""), 300)),
        ("agent", safe(body.get("agent", ""))),
        ("sandbox", body.get("protection", "") or "not known yet"),
        ("workspace", safe(body.get("workspace", ""))),
        ("iteration", f"{body['iteration']} of {limit if limit is not None else 'no limit'}"),
        ("time", _against(clock(elapsed_seconds(row, now)), limits["time"], clock)),
        (
            "cost",
            _against(
                cost_words(
                    spend["cost"], spend["blind"], spend["calls"], estimated=spend["estimated"]
                ).removeprefix("cost "),
                limits["cost"],
                "${:.2f}".format,
            ),
        ),
        ("tokens", _against(_tokens(spend), limits["tokens"], thousands)),
        ("tree", short(body.get("tree", ""))),
        ("best", _best(body.get("best")) if row.word not in GOOD else ""),
        ("breaker", _breaker_words(_breaker(body)) if row.word not in GOOD else ""),
        ("asked", safe(_breaker(body).get("ask", ""), 600)),
        ("branch", body["branch"] if body.get("result") else ""),
        ("merge", MERGE_WORDS[body.get("landing", "")]),
    ]
    if body.get("wait_why") and body["phase"] == "waiting":
        until = body.get("wait_until")
        left = f", {clock(until - now)} left" if until else ""
        facts.append(("waiting", safe(body["wait_why"]) + left))
    return [(label, text) for label, text in facts if text]


def _against(used: str, limit: Any, words: Any) -> str:
    return used if limit is None else f"{used} of {words(limit)}"


def _tokens(spend: dict[str, Any]) -> str:
    if not spend["calls"]:
        return "0"
    return "unknown" if spend["tokens"] is None else thousands(spend["tokens"])


def _best(best: int | None) -> str:
    if best is None:
        return "none yet"
    return "the base: nothing better so far" if best == 0 else f"checkpoint {best}"


def _breaker(body: dict[str, Any]) -> dict[str, Any]:
    """Empty in the row of a loop that an older Ralph wrote."""
    found = body.get("breaker")
    return found if isinstance(found, dict) else {}


def _breaker_words(breaker: dict[str, Any]) -> str:
    """CLOSED · score +3 · risk LOW; or OPEN since iteration 5: the same error … · score -1 · risk HIGH"""
    state, score, watch = breaker.get("state", "CLOSED"), breaker.get("score"), breaker.get("watch", 0)
    if state == "CLOSED" and score is None:
        return ""
    words = state
    if state != "CLOSED":
        words += f" since iteration {breaker.get('since', 0)}: {safe(breaker.get('why', ''), 300)}"
    elif watch:
        words += f", watched for {watch} more iteration{'s' if watch > 1 else ''}"
    parts = [words, "" if score is None else f"score {score:+d}", f"risk {breaker.get('risk', 'LOW')}"]
    return " · ".join(part for part in parts if part)


def _judge_lines(body: dict[str, Any]) -> list[str]:
    judge = body.get("judge")
    if not isinstance(judge, dict):
        return []
    said = safe(judge.get("words", ""), 300) or "not asked yet"
    role = "required" if judge.get("required") else "advisory"
    return [
        f"  judge      {safe(judge.get('agent', ''), 40)}  {judge.get('verdict', 'unknown')}  {said}  {role}"
    ]


def _team_lines(body: dict[str, Any]) -> list[str]:
    """Each role with its spend, then the newest tasks."""
    team = body.get("team")
    if not isinstance(team, dict):
        return []
    tasks = team["tasks"]
    done = f"led by {team['leader']}, {team['done']} of {len(tasks)} tasks done"
    lines = [f"  team       {safe(team['name'], 40)}  {done}"]
    for one in team["roles"]:
        who = safe("/".join(filter(None, (one["agent"], one["model"]))), 40)
        lines.append(f"             {one['name']}  {who}  {role_spend_words(one['spend'])}")
    for task in tasks[-5:]:
        blocked = f": {safe(task['blockers'][0], 120)}" if task.get("blockers") else ""
        status = task.get("status", "in_progress")
        lines.append(f"             {safe(task['subject'], 60)}  {status}  {task['owner']}{blocked}")
    lines += [f"             without the {role}: {safe(why, 200)}" for role, why in team["without"].items()]
    return lines


def _gate_line(line: dict[str, Any]) -> str:
    notes = ["proof"] if line["proof"] else []
    notes += [] if line["required"] else ["advisory"]
    words = "  ".join(filter(None, (safe(line["summary"], 120), ", ".join(notes))))
    return f"  gate       {safe(line['gate'], 30)}  {line['verdict']}  {words}".rstrip()


def __getattr__(name: str) -> Any:
    """`command`, made when it is asked for: click takes longer to load than a list to be shown."""
    if name != "command":
        raise AttributeError(name)
    return _command()


@lru_cache(maxsize=1)
def _command() -> Any:
    import click

    @click.command(short_help="Show loops and their state.")
    @click.argument("loop", required=False)
    @click.option("--all", "every", is_flag=True, help="Show loops of all projects.")
    @click.option(
        "--limit", default=LIMIT, show_default=True, metavar="N", help="Show at most N loops; 0 for all."
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object; see docs/json.md.")
    @click.option("--watch", is_flag=True, help="Show the table again every two seconds, until Ctrl-C.")
    @click.option("--since", default="", metavar="AGE", help="Show only loops that were active since then.")
    @click.option("-q", "quiet", is_flag=True, help="Print names only.")
    def status(
        loop: str | None, every: bool, limit: int, as_json: bool, watch: bool, since: str, quiet: bool
    ) -> int:
        """Show the loops of this project, or one LOOP in detail.

        LOOP is a number, or any unique part of a name. A loop whose runner died is shown as crashed; `ralph
        resume` continues it.

        \b
        Examples:
          ralph status
          ralph status fix-auth --json
          ralph status --all --watch
        """
        from ralph.app.views.rows import moment_ago

        after = moment_ago(since)
        if watch and not as_json:
            return _watch(loop, every=every, limit=limit, since=after)
        return show(loop, every=every, limit=limit, as_json=as_json, quiet=quiet, since=after)

    return status


def _watch(loop: str | None, **given: Any) -> int:
    """The same table, in place, until whoever looks on leaves or the loop that is looked at ends."""
    import contextlib
    import io
    import sys

    clear = "\x1b[H\x1b[2J" if sys.stdout.isatty() else ""
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            page = io.StringIO()
            with contextlib.redirect_stdout(page):
                code = show(loop, **given)
            print(clear + page.getvalue(), end="", flush=True)
            if loop is not None and one_row(loop, os.environ, os.getcwd()).body.get("phase") == "ended":
                return code
            SystemClock().sleep(2.0)
    return 0
