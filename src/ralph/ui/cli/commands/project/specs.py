"""`ralph specs`: start a spec, check the ones that are there, and let another agent attack them."""

from __future__ import annotations

import json
import os
import sys
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from ralph.app.words.format import plural, safe, table
from ralph.errors import RalphError
from ralph.ui.cli.loop_options import pick_options, pick_settings, typed_settings
from ralph.ui.cli.streams import on_terminal

if TYPE_CHECKING:
    from ralph.app.specs import RefinedSpec, Refining, Spend


@click.group(short_help="Create, check or refine specs.")
def command() -> None:
    """Create, check and refine specs: what must be true, one topic per file, as criteria for tests."""


@command.command("new", short_help="Create a spec from the template.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def new(name: str, as_json: bool) -> int:
    """Create `specs/NN-name.md` for you to fill in. Never replaces a file.

    \b
    Example:
      ralph specs new "log in"
    """
    from ralph.app.specs import new_spec

    cwd = os.getcwd()
    top, path = new_spec(cwd, name)
    if as_json:
        print(json.dumps({"v": 1, "path": path}, ensure_ascii=False))
        return 0
    seen = safe(_from_here(top, path, cwd))
    print(f"wrote {seen}")
    print(f"  fill it in, then  ralph specs check {seen}")
    return 0


@command.command("check", short_help="Check specs for problems.")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(paths: tuple[str, ...], as_json: bool) -> int:
    """Check all of `specs/`, or the files and folders given.

    A spec needs a topic in one sentence, a job statement, criteria with unique ids and with Given, When and
    Then, at least two edge cases, numbers in non-functional requirements, and no words that no test can
    decide. Exit code 0: ready (advice does not count). 1: not yet. 6: there are no specs.

    \b
    Examples:
      ralph specs check
      ralph specs check specs/01-log-in.md --json
    """
    from ralph.app.specs import check_files

    cwd = os.getcwd()
    checked = check_files(cwd, paths)
    files, specs, findings, wrong = checked.files, checked.specs, checked.findings, checked.wrong
    if as_json:
        print(json.dumps(_plain(specs, findings, files.skipped, passed=not wrong), ensure_ascii=False))
        return 1 if wrong else 0
    for what in files.skipped.values():
        print(safe(what))
    for one in findings:
        place = f"{_from_here(files.top, one.path, cwd)}:{one.line}"
        kind = "advice: " if one.severity == "P2" else ""
        print(f"{safe(f'{place}: {kind}{one.message}', 300)}  [{one.key.partition(':')[0]}]")
    criteria = sum(len(spec.criteria) for spec in specs)
    told = f"{plural(len(specs), 'spec')}, {criteria} {'criterion' if criteria == 1 else 'criteria'}"
    advice = len(findings) + len(files.skipped) - wrong
    state = f"{wrong} to fix" if wrong else "ready"
    print(f"{told}: {state}{f', {advice} of advice' if advice else ''}")
    return 1 if wrong else 0


@command.command("refine", short_help="Let another agent attack each spec.")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@pick_options("--agent-cmd")
@pick_settings(
    "--agent", "--model", "--profile", "--max-cost", "--max-tokens", "--max-time", "--iteration-timeout",
    "--sandbox", "--net",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; asks nothing.")
@click.option("--dry-run", is_flag=True, help="Show which specs would be attacked and by whom, then exit.")
@click.option("-y", "--yes", is_flag=True, help="Apply all proposed edits without asking.")
def refine(**given: Any) -> int:
    """Let another agent attack all of `specs/`, or the files and folders given, one call per spec.

    The agent is --agent, else the team's reviewer ([team.reviewer]), else the one that loops use. It reads
    the project and proposes edits and questions; the sandbox keeps it from writing, so there must be one
    unless you say --sandbox none. Each proposal is shown, and applied only after your yes. All of them are
    kept in `.ralph/refine/`: a patch for `git apply`, with the questions in it. Exit code 0: every spec was
    attacked. 1: some were not (limit, failed call, unusable answer), or could not be written.

    \b
    Examples:
      ralph specs refine
      ralph specs refine specs/01-log-in.md --agent codex --max-cost 2
    """
    from ralph.app.specs import TASK, prepare_refine
    from ralph.app.start import StartRequest

    env, as_json = dict(os.environ), given["as_json"]
    request = StartRequest(
        task=TASK, cwd=os.getcwd(), agent_cmd=given["agent_cmd"], flags=typed_settings(given)
    )
    refining = prepare_refine(request, given["paths"], env)
    if given["dry_run"]:
        return _show_refining(refining, as_json=as_json)
    for note in refining.notes:
        print(f"note: {safe(note, 400)}", file=sys.stderr)
    calls = plural(len(refining.files.texts), "spec")
    print(f"asking {safe(refining.order.agent.name)} about {calls}, a call each", file=sys.stderr)
    found, spend = _attack(refining, env, as_json=as_json)
    path, lost = _keep(refining, found)
    applied: list[str] = []
    ask = on_terminal() and not as_json
    refined = [_apply(refining, one, applied, yes=given["yes"], ask=ask) for one in found]
    patch = bool(path) and any(one.said and one.said.edits and one.path not in applied for one in refined)
    top = refining.files.top
    but = "".join(f" --exclude={quote(one)}" for one in applied)
    how = f"git -C {quote(top)} apply{but} {quote(os.path.join(top, path))}" if patch else ""
    if as_json:
        print(json.dumps(_plain_refined(refining, refined, spend, applied, path, how), ensure_ascii=False))
    else:
        _show_end(refined, spend, applied, path, how)
    if lost is not None:
        raise lost
    return 1 if any(one.trouble for one in refined) else 0


def _attack(refining: Refining, env: dict[str, str], *, as_json: bool) -> tuple[list[RefinedSpec], Spend]:
    """Every spec with what is proposed for it, each shown as it comes in."""
    from ralph.app.specs import RefinedSpec, Spend, refine

    refined = [RefinedSpec(path, "", trouble=why) for path, why in refining.files.skipped.items()]
    spend = Spend()
    try:
        for one, spend in refine(refining, env) if refining.files.texts else ():  # noqa: B007 - the last one
            refined.append(one)
            if not as_json:
                _show_proposal(one)
    except BaseException:  # a signal, mostly: what was paid for is kept
        path, lost = _keep(refining, refined)
        if path or lost is not None:
            print(f"kept in {safe(path)}" if lost is None else f"note: {safe(lost.what)}", file=sys.stderr)
        raise
    return refined, spend


def _keep(refining: Refining, refined: list[RefinedSpec]) -> tuple[str, RalphError | None]:
    """The file with all proposals, if there are any, or why it could not be written."""
    from ralph.app.specs import write_proposal

    made = [one for one in refined if one.said is not None and (one.said.edits or one.said.questions)]
    try:
        return write_proposal(refining, made) if made else "", None
    except RalphError as trouble:
        return "", trouble


def _show_refining(refining: Refining, *, as_json: bool) -> int:
    agent, limits, paths = refining.order.agent, refining.order.limits, list(refining.files.texts)
    box = refining.shield
    if as_json:
        told = {"v": 1, "agent": agent.name, "model": agent.model, "sandbox": box.level, "specs": paths}
        print(json.dumps(told, ensure_ascii=False))
        return 0
    bounds = {"USD": limits.cost, "tokens": limits.tokens, "seconds": limits.time}
    rows = [
        ("agent", safe(f"{agent.name} {agent.model}".strip())),
        ("sandbox", f"level {box.level}{', read-only' if box.boxed else ''}"),
        ("limits", ", ".join(f"{most:g} {unit}" for unit, most in bounds.items() if most) or "none"),
        *(("spec", safe(path)) for path in paths),
        *(("note", safe(note, 400)) for note in refining.notes),
    ]
    for line in table(rows):
        print(line)
    return 0


def _show_proposal(one: RefinedSpec) -> None:
    from ralph.app.words.format import safe_lines
    from ralph.core.specs.refine import edited_spec, lost_criteria, patch_lines

    if one.said is None:
        print(f"{safe(one.path)}: not attacked: {safe(one.trouble, 400)}")
        return
    edits, questions = one.said.edits, one.said.questions
    print(f"{safe(one.path)}: {plural(len(edits), 'edit')}, {plural(len(questions), 'question')}")
    for question in questions:
        print(f"  question: {safe(question, 800)}")
    for edit in edits:
        print(f"  edit: {safe(edit.why, 800)}")
    new = edited_spec(one.text, edits)
    for line in patch_lines(one.path, one.text, new) if edits else ():
        print("    " + safe_lines(line.rstrip("\r\n")))
    lost = lost_criteria(one.path, one.text, new)
    if lost:
        print(f"  warning: the edits remove {safe(', '.join(lost), 300)}; tests name criteria by these ids")


def _apply(refining: Refining, one: RefinedSpec, applied: list[str], *, yes: bool, ask: bool) -> RefinedSpec:
    """Write its edits, if they are wanted; the spec, with why that failed."""
    from msgspec.structs import replace

    from ralph.app.specs import apply_proposal

    if one.said is None or not one.said.edits or not (yes or ask):
        return one
    words = f"apply {plural(len(one.said.edits), 'edit')} to {safe(one.path)}?"
    if not yes and not click.confirm(words, default=False, err=True):
        return one
    try:
        apply_proposal(refining, one)
    except RalphError as trouble:
        print(f"note: {safe(trouble.what, 300)}", file=sys.stderr)
        return replace(one, trouble=trouble.what)
    applied.append(one.path)
    return one


def _show_end(refined: list[RefinedSpec], spend: Any, applied: list[str], path: str, how: str) -> None:
    from ralph.app.words.format import cost_words

    asked = sum(one.said is not None for one in refined)
    cost = cost_words(spend.cost, spend.blind, spend.calls, estimated=spend.estimated)
    print(f"{asked} of {plural(len(refined), 'spec')} attacked in {plural(spend.calls, 'call')}, {cost}")
    for one in applied:
        print(f"wrote {safe(one)}")
    if path:
        print(f"kept in {safe(path)}")
    if how:
        print(f"  apply what is left with  {how}")


def _plain_refined(
    refining: Refining, refined: list[RefinedSpec], spend: Any, applied: list[str], path: str, how: str
) -> dict[str, Any]:
    import msgspec

    agent = refining.order.agent
    return {
        "v": 1,
        "agent": agent.name,
        "model": agent.model,
        "spend": {"calls": spend.calls, "tokens": spend.tokens, "cost": spend.cost, "blind": spend.blind},
        "file": path,
        "apply": how,
        "specs": [
            {
                "path": one.path,
                "trouble": one.trouble,
                "applied": one.path in applied,
                **(msgspec.to_builtins(one.said) if one.said else {"edits": [], "questions": []}),
            }
            for one in refined
        ],
    }


def _from_here(top: str, path: str, cwd: str) -> str:
    """A path of the project as one would type it here."""
    return os.path.relpath(os.path.join(top, path), os.path.realpath(cwd))


def _plain(specs: Any, findings: Any, skipped: dict[str, str], *, passed: bool) -> dict[str, Any]:
    return {
        "v": 1,
        "passed": passed,
        "specs": [
            {
                "path": spec.path,
                "topic": spec.topic.text if spec.topic else "",
                "criteria": [{"id": one.id, "line": one.line, "title": one.title} for one in spec.criteria],
                "edge_cases": len(spec.edge_cases),
            }
            for spec in specs
        ],
        "findings": [
            {
                "path": one.path,
                "line": one.line,
                "rule": one.key.partition(":")[0],
                "severity": one.severity,
                "message": one.message,
            }
            for one in findings
        ],
        "skipped": [{"path": path, "why": why} for path, why in skipped.items()],
    }
