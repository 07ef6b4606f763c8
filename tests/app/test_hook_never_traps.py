"""Hooks as processes of their own, with something broken each time: the user of the host is never held."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import builders as b
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.app.hooks.entry import _answer
from ralph.app.hooks.read_input import EVENTS
from ralph.clock import SystemClock
from ralph.core.session.names import session_name
from ralph.core.session.record import SessionStarted
from ralph.errors import RalphError
from ralph.shell.journal.open import open_journal
from ralph.shell.session.stream import add_fact, stream_of
from ralph.shell.state.directory import open_state

NAME = session_name("claude", "s1")
RALPH = [sys.executable, "-m", "ralph"]
BROKEN = (
    "unknown option", "no event", "one word too many", "unknown host", "journal", "newer record", "full disk",
    "no git", "no repository", "state is a file", "no venv", "torn library", "torn library of commands",
    "closed streams", "hostile id", "number as id",
)  # fmt: skip
QUICK = ("unknown option", "journal", "hostile id")


class Host:
    """A host with a session that is judged, whose hook is called once."""

    def __init__(self, top: Path) -> None:
        self.top, self.repo = top, top / "repo"
        self.repo.mkdir()
        self.env = {"HOME": str(top), "RALPH_STATE_DIR": str(top / "state"), "PATH": os.environ["PATH"]}
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "base"]):
            subprocess.run([*git, *words], cwd=self.repo, check=True)
        self.state = open_state(self.env["RALPH_STATE_DIR"], create=True)
        order = replace(b.order(), repo=str(self.repo))
        fact = SessionStarted(host="claude", session="s1", order=order, protection="S2")
        add_fact(self.state, NAME, SystemClock(), lambda _: fact)
        self.argv, self.stdin = [*RALPH, "hook", "Stop", "--host", "claude"], {"session_id": "s1"}
        self.shell = "exec {}"

    def call(self) -> tuple[int, str]:
        line = self.shell.format(shlex.join(self.argv))
        done = subprocess.run(
            ["/bin/sh", "-c", line], input=json.dumps(self.stdin), env=self.env, text=True, timeout=60,
            cwd=self.top, capture_output=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout


def break_host(host: Host, what: str) -> None:
    match what:
        case "unknown option":
            host.argv.append("--of-a-newer-ralph")
        case "no event":
            host.argv.remove("Stop")
        case "one word too many":
            host.argv.append("word")
        case "unknown host":
            host.argv[-1] = "nobody"
        case "journal":
            Path(host.state.root, "journal.db").write_bytes(b"no database" * 500)
        case "newer record":
            with open_journal(host.state.root) as journal:
                journal.append(stream_of(NAME), 1, at=1, kind="FromTheFuture", v=9, body=b"{}")
        case "full disk":
            host.shell = "ulimit -f 0; exec {}"
        case "no git":
            host.env["PATH"] = "/nowhere"
        case "no repository":
            shutil.rmtree(host.repo)
        case "state is a file":
            shutil.rmtree(host.state.root)
            Path(host.state.root).write_text("")
        case "no venv":
            host.argv[:3] = [str(host.top / "gone" / "bin" / "ralph")]
        case "torn library" | "torn library of commands":
            name = "msgspec" if what == "torn library" else "click"
            (host.top / f"{name}.py").write_text("raise ImportError('torn')\n")
            host.env["PYTHONPATH"] = str(host.top)
        case "closed streams":
            host.shell = "exec {} <&- >&- 2>&-"
        case "hostile id":
            host.stdin["session_id"] = "../../../etc\u0000"
        case "number as id":
            host.stdin["session_id"] = 7  # type: ignore[assignment]


@pytest.mark.parametrize(
    "what", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in BROKEN]
)
def test_a_broken_ralph_never_holds_the_user_of_a_host(tmp_path: Path, what: str) -> None:
    """Exit code 2 is a refusal, and only what was judged may say so: trouble allows, without an answer."""
    host = Host(tmp_path)
    break_host(host, what)
    code, out = host.call()
    assert code != 2
    assert out == ""


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = (
    "session_id", "sessionId", "cwd", "tool_name", "toolName", "tool_input", "toolArgs", "files_modified",
    "background_tasks", "last_assistant_message", "stop_hook_active", "agent_id", "hook_event_name",
)  # fmt: skip


@given(
    event=st.sampled_from(EVENTS),
    fields=st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=6), VALUES, max_size=6),
    kind=st.sampled_from(("object", "list", "text", "bytes")),
)
@settings(deadline=None)
def test_json_of_any_shape_decides_nothing(
    tmp_path_factory: pytest.TempPathFactory, event: str, fields: dict[str, Any], kind: str
) -> None:
    """Whatever types a host's fields have, nobody is refused who is not judged; what cannot be read is an
    error that `run_hook` turns into an allowance."""
    top = tmp_path_factory.getbasetemp() / "any"
    top.mkdir(exist_ok=True)
    env = {"HOME": str(top), "RALPH_STATE_DIR": str(top / "state"), "PATH": "/nowhere"}
    data = json.dumps({"object": fields, "list": [fields], "text": str(fields), "bytes": 7}[kind]).encode()
    if kind == "bytes":
        data = repr(fields).encode("utf-8", "surrogatepass")
    with suppress(RalphError, ValueError, OSError):  # our own words, and no slip of the program
        assert _answer(event, data, "claude", env)[0] == 0
