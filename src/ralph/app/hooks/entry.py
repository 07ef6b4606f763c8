"""`ralph hook EVENT` from stdin to exit code: most calls decide nothing, and those end here, at once.

Whatever goes wrong inside Ralph lets the agent go on, with a line on stderr: a hook must never trap its user.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from ralph.app.hooks.read_input import event_name, read_hook_input, text_field

OFF = "RALPH_HOOKS"  # =off: no hook of Ralph's decides anything
OFF_FILE = "hooks.off"
_IN_LOOP = "RALPH_LOOP_ID"
_MAX_DRAINED = 64 << 20
_TOUCHES = re.compile(
    r"\b(?:git|rm|rmdir|shred|mv|cp|ln|tee|dd|sed|perl|touch|truncate|install)\b|>(?!&|\s*/dev/)"
)
_WRITER = re.compile(r"edit|write|create|replace|patch|delete|move|rename|notebook|lsp", re.IGNORECASE)
_PARSED = re.compile(r"\.(?:py|json)\"")
# These look at added lines whether or not a task was started: whoever installs the hooks wants that.
ALWAYS = ("TaskCompleted", "TeammateIdle")


def run_hook(event: str, host: str, env: Mapping[str, str]) -> int:
    """Read stdin, answer; the exit code, which is 0 or 2."""
    try:
        data = sys.stdin.buffer.read(_MAX_DRAINED)  # all of it: a host may mind a pipe that closes early
        if env.get(OFF, "").lower() in ("off", "0", "no", "false") or env.get(_IN_LOOP):
            return 0
        code, out, err = _answer(event, data, host or guess_host(env), env)
    except (Exception, KeyboardInterrupt) as wrong:  # noqa: BLE001 (see above)
        code, out, err = 0, "", f"ralph hook: {_words(wrong)}; nothing was decided, so this is allowed"
    if out:
        sys.stdout.write(out + "\n")
    if err:
        sys.stderr.write(err + "\n")
    return code


def _words(wrong: BaseException) -> str:
    what = getattr(wrong, "what", "")
    return " ".join((what or f"{type(wrong).__name__}: {wrong}").split())[:400]


def guess_host(env: Mapping[str, str]) -> str:
    from ralph.core.session.hosts import HOST_FACTS

    told = (name for name, facts in HOST_FACTS.items() if facts.variable and env.get(facts.variable))
    return next(told, "claude")


def _answer(event: str, data: bytes, host: str, env: Mapping[str, str]) -> tuple[int, str, str]:
    known = event_name(event)
    if not known:
        return 0, "", f"ralph hook: there is no event '{event[:40]}'"
    fields = read_hook_input(data)
    if not _may_matter(known, fields, data):
        return 0, "", ""
    from ralph.core.session.hosts import HOST_FACTS
    from ralph.core.session.names import session_name
    from ralph.shell.state.places import state_dir

    session = text_field(fields, "session_id") or env.get(HOST_FACTS[host].variable, "")
    name = session_name(host, session)
    root = state_dir(env)
    if os.path.exists(os.path.join(root, OFF_FILE)):
        return 0, "", ""
    if not os.path.exists(os.path.join(root, "loops", name, "active")) and known not in ALWAYS:
        return 0, _introduce(known, host, session), ""
    from ralph.app.hooks.answer import Hook, answer_hook

    cwd = text_field(fields, "cwd") or os.getcwd()
    return answer_hook(Hook(known, fields, host, session, cwd, env))


def _may_matter(event: str, fields: dict[str, Any], data: bytes) -> bool:
    """Could this use of a tool be refused, or have broken a file?"""
    if event == "PreToolUse":
        given = fields.get("tool_input")
        words = ("command", "cmd", "script")
        command = str([given.get(one, "") for one in words]) if isinstance(given, dict) else ""
        return bool(_WRITER.search(text_field(fields, "tool_name")) or _TOUCHES.search(command))
    if event == "PostToolUse":
        writes = _WRITER.search(text_field(fields, "tool_name"))
        return bool(writes and _PARSED.search(data[:4000].decode("utf-8", "replace")))
    return True


def _introduce(event: str, host: str, session: str) -> str:
    """Where the agent's shell does not know the session's id, the agent has to."""
    from ralph.core.session.hosts import HOST_FACTS

    if event != "SessionStart" or HOST_FACTS[host].variable:
        return ""
    words = f"For `ralph session` commands, this session is: --host {host} --session {session}"
    return context_json(event, words)


def context_json(event: str, words: str) -> str:
    import json

    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": words}})


def switch_hooks(env: Mapping[str, str], *, off: bool) -> str:
    """Turn every hook of this user's Ralph off, or on again; what to tell."""
    from ralph.shell.state.directory import open_state, state_dir

    path = os.path.join(open_state(state_dir(env), create=True).root, OFF_FILE)
    if off:
        with open(path, "wb"):
            pass
        return "hooks are off: no session is judged until `ralph hook on`"
    if os.path.exists(path):
        os.unlink(path)
    return "hooks are on"
