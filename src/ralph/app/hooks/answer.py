"""What Ralph answers to each event of a session that it judges, in the way that the host understands."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ralph.app.hooks.entry import context_json
from ralph.app.hooks.read_input import background_work, text_field
from ralph.app.session.gate import ask_stop
from ralph.app.session.view import context_for_agent, headline
from ralph.clock import SystemClock
from ralph.core.claim.status_block import parse_status
from ralph.core.session.answer_stop import MAX_REFUSALS
from ralph.core.session.hosts import HOST_FACTS
from ralph.core.session.names import session_name
from ralph.core.session.record import Fact, HookAnswered, Session, SubagentStarted
from ralph.core.text.clean import one_line
from ralph.shell.session.look import added_problems, snapshot_here
from ralph.shell.session.stream import add_fact, read_session
from ralph.shell.state.directory import open_state, state_dir

MAX_REASON = 2000
_MARGIN_SECONDS = 10.0  # of the host's time limit: for starting, for the snapshot, and for the answer
Answer = tuple[int, str, str]
ALLOW: Answer = (0, "", "")
_WAYS = {
    "judging": "Change nothing, wait a moment (for example: sleep 60), then stop again to hear the verdict.",
    "": "Go on until it is true, then stop again.",
}
_BLOCKED = 'If you cannot go on without the user: ralph session blocked "why", then stop.'


class Hook(Struct, frozen=True):
    event: str
    fields: dict[str, Any]
    host: str
    session: str
    cwd: str
    env: Mapping[str, str]

    @property
    def name(self) -> str:
        return session_name(self.host, self.session)


def answer_hook(hook: Hook) -> Answer:
    state = open_state(state_dir(hook.env), create=True)
    session = read_session(state, hook.name)
    if hook.event in ("TaskCompleted", "TeammateIdle"):
        return _answer_added(hook, session)
    if not session.active:
        return ALLOW
    return _BY_EVENT[hook.event](hook, session)


def _answer_stop(hook: Hook, session: Session) -> Answer:
    if background_work(hook.fields):
        return 0, "", "ralph: background tasks go on, so this stop is not judged"
    facts = HOST_FACTS[hook.host]
    told = hook.env.get(facts.cap_variable, "") if facts.cap_variable else ""
    most = min(MAX_REFUSALS, int(told) if told.isdigit() and int(told) else facts.cap or MAX_REFUSALS)
    claim = parse_status(text_field(hook.fields, "last_assistant_message", 100_000)).claim
    seconds = max(1.0, _seconds(hook) - _MARGIN_SECONDS)
    session, answer = ask_stop(hook.name, hook.env, claim=claim, seconds=seconds, most=most)
    if not answer.refused:
        said = headline(session) if session.ended else f"stop allowed ({answer.why}), NOT verified"
        return 0, "", f"ralph: {said}: {'; '.join(answer.words)[:600]}"
    count = session.refusals.get("Stop", 0)
    lines = [f"Ralph: not done yet (refusal {count} of at most {most} in a row)."]
    lines += [f"- {line}" for line in answer.words]
    lines += [_WAYS.get(answer.why, _WAYS[""]), _BLOCKED]
    return refuse(hook, "\n".join(lines))


def _seconds(hook: Hook) -> float:
    told = hook.env.get("RALPH_HOOK_SECONDS", "")
    return float(told) if told.isdigit() and int(told) else float(HOST_FACTS[hook.host].seconds)


def refuse(hook: Hook, reason: str) -> Answer:
    """Not now, in the host's own way; at most so many characters."""
    words = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]} … (ralph session status)"
    if HOST_FACTS[hook.host].refuses_by == "exit":
        return 2, "", words
    if hook.event == "PreToolUse":
        return 0, json.dumps({"permissionDecision": "deny", "permissionDecisionReason": words}), ""
    return 0, json.dumps({"decision": "block", "reason": words}), ""


def _answer_added(hook: Hook, session: Session) -> Answer:
    """Added lines only: since the sub-agent began, the session's task was started, or the last commit."""
    began = session.subagents.get(text_field(hook.fields, "agent_id", 200), "")
    files = hook.fields.get("files_modified")
    named = [one for one in files if isinstance(one, str)] if isinstance(files, list) else []
    added, tree = added_problems(
        hook.name, hook.env, hook.cwd, SystemClock(), session, since=began, files=named
    )
    found, row = added.found, session.refusals.get(hook.event, 0)
    refused = bool(found) and row < MAX_REFUSALS
    if found or row:
        _note(hook, lambda _: HookAnswered(
            event=hook.event, refused=refused, why="added", tree=tree, words=found
        ))  # fmt: skip
    if refused:
        lines = [f"Ralph: this is not finished (refusal {row + 1} of at most {MAX_REFUSALS} in a row)."]
        return refuse(hook, "\n".join([*lines, *(f"- {line}" for line in found)]))
    if found:
        return 0, "", f"ralph: allowed after {row} refusals, NOT clean: {'; '.join(found)[:600]}"
    unparsed = one_line(", ".join(added.unparsed), 300)
    return 0, "", f"ralph: no program here could parse {unparsed}: not checked for syntax" if unparsed else ""


def _start_subagent(hook: Hook, session: Session) -> Answer:
    agent = text_field(hook.fields, "agent_id", 200)
    if agent:
        tree = snapshot_here(hook.name, hook.env, session.loop.sealed.repo, SystemClock())[1]
        _note(hook, lambda _: SubagentStarted(agent=agent, tree=tree))
    return 0, context_json(hook.event, context_for_agent(session)), ""


def _start_session(hook: Hook, session: Session) -> Answer:
    return 0, context_json(hook.event, context_for_agent(session)), ""


def _before_tool(hook: Hook, session: Session) -> Answer:
    from ralph.app.hooks.tools import missing_server, why_denied

    name, given = text_field(hook.fields, "tool_name"), hook.fields.get("tool_input")
    why = why_denied(name, given, session.loop.sealed, hook.cwd)
    if why:
        return refuse(hook, f"Ralph: {why}")
    warning = missing_server(name, given)
    return 0, "", f"ralph: {warning}" if warning else ""


def _after_tool(hook: Hook, session: Session) -> Answer:
    """The edit is made; what no longer parses is told at once, while its author still has it in mind."""
    from ralph.app.hooks.tools import edited_paths
    from ralph.shell.session.added_code import parse_file

    given = hook.fields.get("tool_input")
    for path in edited_paths(given) if isinstance(given, dict) else ():
        wrong = parse_file(os.path.join(hook.cwd, path), session.loop.sealed.repo)
        if wrong:
            return refuse(hook, f"Ralph: {path[:200]} does not parse: {wrong}")
    return ALLOW


def _note(hook: Hook, make: Callable[[Session], Fact]) -> None:
    add_fact(open_state(state_dir(hook.env), create=True), hook.name, SystemClock(), make)


_BY_EVENT: dict[str, Callable[[Hook, Session], Answer]] = {
    "Stop": _answer_stop,
    "SubagentStop": _answer_added,
    "SubagentStart": _start_subagent,
    "SessionStart": _start_session,
    "PreToolUse": _before_tool,
    "PostToolUse": _after_tool,
}
