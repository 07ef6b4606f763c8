"""Action reports: what a skill did in a session, from when it began to when it said that it ended.

Its word on success is a claim. "completed" is recorded only when Ralph verified the session; everything else
that it calls completed is partial, and the report says why. Newest fifty of each skill are kept.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal

import msgspec

from ralph.app.report.report_files import MAX_REPORTS
from ralph.app.session.state import validation
from ralph.app.words.format import iso, safe
from ralph.clock import SystemClock
from ralph.core.session.names import session_name
from ralph.core.session.record import ActionEnded, ActionStarted, Session
from ralph.errors import SetupError, UserError
from ralph.shell.files.write_whole import write_whole
from ralph.shell.git.project import find_project, user_call
from ralph.shell.session.stream import add_fact, read_session
from ralph.shell.state.directory import State, open_state, state_dir

Status = Literal["completed", "failed", "partial"]
_SKILL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MARKS = {"completed": "✔", "failed": "✘", "partial": "~"}


def start_action(name: str, env: Mapping[str, str], skill: str, description: str) -> None:
    if not _SKILL.fullmatch(skill):
        raise UserError(
            f"skill {safe(skill, 60)!r} is not allowed",
            code="E-ACTION-SKILL",
            why="expected 1 to 64 letters, digits, '_' and '-'",
            next="ralph action start --help",
        )
    state = open_state(state_dir(env), create=True)
    fact = ActionStarted(skill=skill, description=safe(description, 500))
    add_fact(state, name, SystemClock(), lambda _: fact)


def complete_action(
    which: tuple[str, str],
    env: Mapping[str, str],
    cwd: str,
    claimed: Status,
    summary: str,
    advice: tuple[str, ...],
) -> tuple[str, str]:
    """The report as Markdown, and where it was written. `which`: host and id of the session."""
    state, clock, name = open_state(state_dir(env), create=True), SystemClock(), session_name(*which)
    session = read_session(state, name)
    if session.action is None:
        raise UserError(
            "no action is under way in this session", code="E-ACTION-NONE", next="ralph action start --help"
        )
    status: Status = "partial" if claimed == "completed" and not _is_shown(session) else claimed
    body = _body(session, status, claimed, cwd, clock.now())
    body["details"]["recommendations"] += [f"the agent: {safe(one, 300)}" for one in advice[:20]]
    body |= {"session": " ".join(which), "summary": safe(summary, 2000) or "not given"}
    path = _write(state, session.action.skill, body, clock.now())
    add_fact(
        state, name, clock, lambda _: ActionEnded(claimed=claimed, status=status, summary=body["summary"])
    )
    return action_md(body), path


def _is_shown(session: Session) -> bool:
    """Did Ralph verify the session while this action was under way? What was verified before is not its."""
    end, action = session.ended, session.action
    verified = end is not None and end.outcome == "verified" and action is not None and end.at >= action.at
    return verified and validation(session) == "passed"


def _body(session: Session, status: Status, claimed: Status, cwd: str, now: float) -> dict[str, Any]:
    action = session.action
    assert action is not None
    stops, refused = session.before_action
    errors = [safe(one, 500) for one in session.said.words] if session.said and session.said.refused else []
    advice = []
    if status != claimed:
        shown = f"the checks say: {validation(session)}" if session.active else "no check has shown it"
        errors.insert(0, f"claimed completed, but {shown}")
        advice.append("ralph session verify" if session.active else "ralph session start TASK --check CMD")
    project = find_project(cwd)
    changed = user_call(project, ["status", "--porcelain", "-z", "--no-renames"], ok=None)
    return {
        "v": 1,
        "skill_name": action.skill,
        "status": status,
        "claimed": claimed,
        "description": action.description,
        "repository": project.top,
        "details": {
            "duration": duration_words(now - action.at),
            "iterations": session.stops - stops,
            "refused": session.refused - refused,
            "files_modified": None if changed.code else len(list(filter(None, changed.out.split(b"\0")))),
            "errors": errors,
            "recommendations": advice,
        },
        "git": {"branch": safe((project.branch or "").removeprefix("refs/heads/")), "commit": project.head},
        "timestamp": iso(now),
    }


def duration_words(seconds: float) -> str:
    """41s, 3m 5s, 2h 4m."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m {whole % 60}s" if whole < 3600 else f"{whole // 3600}h {whole % 3600 // 60}m"


def action_md(body: Mapping[str, Any]) -> str:
    from ralph.app.report.markdown import text

    details, git = body["details"], body["git"]
    changed = "unknown" if details["files_modified"] is None else details["files_modified"]
    lines = [
        f"# {_MARKS[body['status']]} {body['skill_name']}: {body['status'].upper()}",
        f"\nGenerated: {body['timestamp']}\nStatus: {body['status'].upper()}",
        f"Session: {text(body['session'])}",
        f"\n## Summary\n\n{text(body['summary'])}",
        f"\n## Execution Details\n\n- Duration: {details['duration']}\n- Iterations: {details['iterations']}",
        f"- Files Modified: {changed}\n- Model: unknown",
        f"\n## Git State\n\n- Branch: {text(git['branch']) or 'a detached HEAD'}\n- Commit: {git['commit']}",
        f"- Changed Files: {changed}",
        "\n## Results\n\n### Errors\n",
        *([f"- {text(one)}" for one in details["errors"]] or ["None."]),
        "\n### Recommendations\n",
        *([f"- {text(one)}" for one in details["recommendations"]] or ["None."]),
        "\n## Next Steps\n\n- `ralph session status`",
    ]
    return "\n".join(lines) + "\n"


def _folder(state: State) -> str:
    return os.path.join(state.reports, "actions")


def _write(state: State, skill: str, body: dict[str, Any], now: float) -> str:
    folder = os.path.join(_folder(state), skill)
    stem = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now)) + f"-{int(now * 1000) % 1000:03}"
    path = os.path.join(folder, f"{stem}.md")
    body["report_file"] = path
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_whole(path, action_md(body).encode())
        write_whole(os.path.join(folder, f"{stem}.json"), msgspec.json.encode(body))
        for old in sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".md"))[:-MAX_REPORTS]:
            for kind in ("md", "json"):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, f"{old}.{kind}"))
    except OSError as error:
        raise SetupError(
            f"cannot write '{path}': {error.strerror}", code="E-REPORT-WRITE", next="ralph doctor"
        ) from error
    return path


def list_actions(env: Mapping[str, str], repo: str | None, *, failed: bool) -> list[dict[str, Any]]:
    """Reports of a repository's actions (of all, outside one), newest first; `failed`: not completed."""
    found = [
        body
        for body in _stored(open_state(state_dir(env), create=False))
        if repo in (None, body.get("repository")) and not (failed and body.get("status") == "completed")
    ]
    return sorted(found, key=lambda body: str(body.get("timestamp")), reverse=True)


def _stored(state: State) -> Iterator[dict[str, Any]]:
    for folder, _, names in os.walk(_folder(state)):
        for name in names:
            if name.endswith(".json"):
                with suppress(OSError, msgspec.DecodeError):
                    with open(os.path.join(folder, name), "rb") as file:
                        body = msgspec.json.decode(file.read(1_000_000))
                    if isinstance(body, dict):
                        yield body
