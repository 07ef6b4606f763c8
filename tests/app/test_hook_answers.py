"""Hooks as their hosts call them: what is allowed, what is refused, and that nothing traps anybody."""

from __future__ import annotations

import ast
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import builders as b
import pytest
from msgspec.structs import replace

from ralph.app.hooks.entry import run_hook, switch_hooks
from ralph.app.hooks.read_input import MAX_BYTES, background_work, event_name, read_hook_input
from ralph.app.hooks.tools import missing_server, why_denied
from ralph.clock import SystemClock
from ralph.core.session.names import session_name
from ralph.core.session.record import HookAnswered, SessionStarted
from ralph.shell.session.added_code import find_in_added
from ralph.shell.session.look import snapshot_here
from ralph.shell.session.sql_text import built_queries
from ralph.shell.session.stream import add_fact, read_session
from ralph.shell.state.directory import open_state


class Hooks:
    """A repository, a session that is judged in it, and hooks called for it."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.repo, self._patch = top / "repo", monkeypatch
        self.env = {"HOME": str(top), "RALPH_STATE_DIR": str(top / "state"), "PATH": os.environ["PATH"]}
        self.state = open_state(self.env["RALPH_STATE_DIR"], create=True)
        self.repo.mkdir()
        (self.repo / "one.py").write_text("def one():\n    return 1\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base")

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.repo, check=True, capture_output=True)

    def begin(self, host: str = "claude", session: str = "s1", **order: Any) -> str:
        name = session_name(host, session)
        sealed = replace(b.order(**order), repo=str(self.repo))
        fact = SessionStarted(host=host, session=session, order=sealed, protection="S2")
        add_fact(self.state, name, SystemClock(), lambda _: fact)
        return name

    def __call__(
        self, event: str, host: str = "claude", raw: bytes | None = None, **fields: Any
    ) -> tuple[int, str, str]:
        given = {"session_id": "s1", "cwd": str(self.repo), **fields}
        data = json.dumps(given).encode() if raw is None else raw
        out, err = io.StringIO(), io.StringIO()
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        self._patch.setattr(sys, "stdout", out)
        self._patch.setattr(sys, "stderr", err)
        try:
            return run_hook(event, host, self.env), out.getvalue(), err.getvalue()
        finally:
            self._patch.undo()


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    return Hooks(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "event", ["Stop", "SubagentStop", "SubagentStart", "PreToolUse", "PostToolUse", "SessionStart"]
)
def test_a_session_without_a_task_is_left_alone(hooks: Hooks, event: str) -> None:
    """Whoever installs the hooks and starts nothing never notices them: 0, nothing on stdout, no trace."""
    said = hooks(event, tool_name="Bash", tool_input={"command": "git reset --hard"})
    assert said == (0, "", "")
    assert os.listdir(hooks.state.loops) == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"garbage",
        b"[1]",
        b'{"session_id": "../../etc"}',
        b'{"session_id": 7}',
        b"{" * 5000,
        b'{"session_id":"s1","cwd":"/nowhere"}',
        b"\xff\xfe\x00",
    ],
)
@pytest.mark.parametrize("event", ["Stop", "TaskCompleted", "Nothing"])
def test_what_ralph_cannot_read_is_allowed(hooks: Hooks, event: str, raw: bytes) -> None:
    """Trouble in Ralph, or in what it is given, never traps the user: exit 0, at most a line of words."""
    hooks.begin()
    if event == "Stop" and b"nowhere" in raw:
        return  # of a session that is judged, the repository is known: this stop is a real one
    code, out, _ = hooks(event, raw=raw)
    assert (code, out) == (0, "")


def test_a_broken_state_directory_is_allowed(hooks: Hooks) -> None:
    """A journal that cannot be read decides nothing."""
    hooks.begin()
    Path(hooks.state.root, "journal.db").write_bytes(b"not a database" * 100)
    code, out, err = hooks("Stop")
    assert (code, out) == (0, "")
    assert "allowed" in err


@pytest.mark.parametrize("way", ["variable", "file", "loop"])
def test_the_kill_switch_turns_every_hook_off(hooks: Hooks, way: str) -> None:
    """By a variable, by a command, and inside Ralph's own loops."""
    hooks.begin()
    tool = {"tool_name": "Bash", "tool_input": {"command": "git reset --hard"}}
    assert hooks("PreToolUse", **tool)[0] == 2
    if way == "file":
        switch_hooks(hooks.env, off=True)
    else:
        hooks.env["RALPH_HOOKS" if way == "variable" else "RALPH_LOOP_ID"] = "off"
    assert hooks("PreToolUse", **tool) == (0, "", "")
    if way == "file":
        switch_hooks(hooks.env, off=False)
        assert hooks("PreToolUse", **tool)[0] == 2


def test_each_host_is_refused_in_its_own_way(hooks: Hooks) -> None:
    """Exit code 2 and stderr where that holds; JSON with exit code 0 for the host that ignores exit codes."""
    for host in ("claude", "codex", "gemini", "qwen"):
        hooks.begin(host)
        code, out, err = hooks("PreToolUse", host, tool_name="Bash", tool_input={"command": "git clean -fd"})
        assert (code, out) == (2, "")
        assert "git clean -fd" in err
    hooks.begin("copilot")
    raw = {
        "sessionId": "s1",
        "cwd": str(hooks.repo),
        "toolName": "bash",
        "toolArgs": '{"command":"git clean -fd"}',
    }
    code, out, err = hooks("preToolUse", "copilot", raw=json.dumps(raw).encode())
    assert (code, err) == (0, "")
    assert json.loads(out)["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("name", "given", "denied"),
    [
        ("Bash", {"command": "git reset --hard HEAD~1"}, True),
        ("Bash", {"command": "git reset HEAD one.py"}, False),
        ("Bash", {"command": "cd x && git -C . checkout -- ."}, True),
        ("Bash", {"command": "git checkout -b work"}, False),
        ("Bash", {"command": "git restore ."}, True),
        ("Bash", {"command": "git restore --staged ."}, False),
        ("Bash", {"command": "git push --force-with-lease"}, True),
        ("Bash", {"command": "git push"}, False),
        ("Bash", {"command": "git stash drop"}, True),
        ("Bash", {"command": "git commit -m 'git reset --hard is bad'"}, False),
        ("Bash", {"command": "sudo bash -c 'git clean -xdf'"}, True),
        ("shell", {"command": ["bash", "-lc", "rm -rf ."]}, True),
        ("Bash", {"command": "rm -rf build dist"}, False),
        ("Bash", {"command": "rm -rf ../repo"}, True),
        ("Bash", {"command": "rm -rf ~"}, True),
        ("Bash", {"command": 'rm -rf "$DIR"'}, True),
        ("Bash", {"command": "rm -rf .git"}, True),
        ("Bash", {"command": "rm check.sh"}, True),
        ("Bash", {"command": "cd .. && rm -rf repo"}, True),
        ("Bash", {"command": "if true; then git reset --hard; fi"}, True),
        ("Bash", {"command": 'eval "git reset --hard"'}, True),
        ("Bash", {"command": "echo x >> .git/config"}, True),
        ("Bash", {"command": "echo 'x > .git/config' > notes.txt 2>&1"}, False),
        ("Bash", {"command": "cat < .git/config"}, False),
        ("Bash", {"command": "sed -i s/a/b/ check.sh"}, True),
        ("Bash", {"command": "sed s/a/b/ check.sh"}, False),
        ("Bash", {"command": "sed -Ei s/a/b/ check.sh"}, True),
        ("Bash", {"command": "sed --in-place s/a/b/ check.sh"}, True),
        ("Bash", {"command": "perl -pi -e s/a/b/ check.sh"}, True),
        ("Bash", {"command": "perl -Ilib -ne print check.sh"}, False),
        ("Bash", {"command": "dd if=/dev/null of=check.sh"}, True),
        ("Bash", {"command": "dd if=check.sh of=copy.sh"}, False),
        ("Bash", {"command": "cp one.py secret/"}, True),
        ("Bash", {"command": "mv secret old"}, True),
        ("Bash", {"command": "cp secret/a ."}, False),
        ("Bash", {"command": "cat > build.sh <<'EOF'\nrm -rf .\ngit reset --hard\nEOF\nls"}, False),
        ("Bash", {"command": "cat > a.md <<EOF\ntext\nEOF\ngit reset --hard"}, True),
        ("Bash", {"command": "bash <<EOF\nrm -rf .\nEOF"}, True),
        ("Bash", {"command": "cat <<EOF | sh\nrm -rf .\nEOF"}, True),
        ("Bash", {"command": "echo '<<EOF'\nrm -rf ."}, True),
        ("Bash", {"command": "cp check.sh copy.sh && ./check.sh"}, False),
        ("Bash", {"command": "cp copy.sh check.sh"}, True),
        ("Bash", {"command": "find . -name '*.pyc' -delete"}, False),
        ("Bash", {"command": "grep -r 'rm -rf /' docs"}, False),
        ("Bash", {"command": "echo rm"}, False),
        ("Write", {"file_path": "one.py", "content": "x"}, False),
        ("Write", {"file_path": "secret/x.txt"}, True),
        ("Edit", {"file_path": "check.sh"}, True),
        ("Edit", {"file_path": ".git/hooks/pre-commit"}, True),
        ("Read", {"file_path": ".git/config"}, False),
        ("apply_patch", {"command": "*** Begin Patch\n*** Update File: check.sh\n@@\n"}, True),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: new.py\n+x\n"}, False),
        ("Edit", "nonsense", False),
    ],
)
def test_tools_that_would_edit_the_judge_or_destroy_work_are_denied(
    name: str, given: Any, denied: bool, hooks: Hooks
) -> None:
    """Protected paths and destructive git and rm; ordinary work, and words about such commands, pass."""
    sealed = replace(b.order(b.gate(own_files=("check.sh",)), protect=("secret/**",)), repo=str(hooks.repo))
    assert bool(why_denied(name, given, sealed, str(hooks.repo))) is denied


def test_a_missing_language_server_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's question to a server that is not there is told, never refused."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert "language server" in missing_server("LSP", {"file_path": "a.py"})
    assert missing_server("LSP", {"file_path": "a.xyz"}) == ""
    assert missing_server("Read", {"file_path": "a.py"}) == ""


ADDED = {
    "sql.py": ('def f(c, n):\n    c.execute(f"SELECT a FROM t WHERE n = {n}")\n', "CWE-89"),
    "percent.py": ('def f(c, n):\n    c.execute("DELETE FROM t WHERE n = %s" % n)\n', "CWE-89"),
    "named.py": ('def f(c, n):\n    q = f"UPDATE t SET a = {n}"\n    c.execute(q)\n', "line 2 of named.py"),
    "longer.py": (
        'def f(c, n):\n    q = "SELECT a FROM t"\n    q += f" WHERE n = {n}"\n    c.execute(q)\n',
        "line 3 of longer.py",
    ),
    "elsewhere.py": (
        'def f(c):\n q = "SELECT a FROM t"\n c.execute(q)\ndef g(n):\n q = f"{n}?page={n}"\n return q\n',
        "",
    ),
    "given.py": ('T = "t"\ndef f(c, T):\n    c.execute(f"SELECT a FROM {T} ")\n', "line 3 of given.py"),
    "marks.py": (
        'T = "t"\ndef f(c, i):\n    m = ",".join("?" * 2)\n    c.execute(f"SELECT a FROM {T} IN {m}", i)\n',
        "",
    ),
    "fine.py": (
        'def f(c, n):\n    c.execute("SELECT a FROM t WHERE n = ?", (n,))\n    print(f"select {n} from")\n',
        "",
    ),
    "broken.py": ("def f(:\n", "does not parse"),
    "later.py": ("def f():\n    # TODO: write this\n    return None\n", "later.py"),
    "debug.py": ("def f():\n    breakpoint()\n    return 1\n", "breakpoint"),
    "key.py": ('KEY = "ghp_' + "Zk3vQ9mT7xR2bN8wL5cY1dF6hJ4pS0aGuEoI" + '"\n', "token"),
    "x.json": ('{"a": 1,}\n', "does not parse"),
    "ok.json": ('{"a": 1}\n', ""),
    "x.sh": ("if then\n", "does not parse"),
    "ok.sh": ("if true; then echo a; fi\n", ""),
    "x.js": ("const x = ;\n", "does not parse"),
    "ok.js": ("export const x = 1;\n", ""),
    "jsx.js": ("export const x = <b/>;\n", ""),
}


@pytest.mark.sample(check=6)
@pytest.mark.parametrize("name", sorted(ADDED))
def test_added_lines_are_looked_at_by_syntax(hooks: Hooks, name: str) -> None:
    """Each finding names its file; honest files of the same kind pass."""
    text, found = ADDED[name]
    store, before = snapshot_here("session-x", hooks.env, str(hooks.repo), SystemClock())
    (hooks.repo / name).write_text(text)
    after = snapshot_here("session-x", hooks.env, str(hooks.repo), SystemClock())[1]
    said = find_in_added(store, before, after)
    assert said.unparsed == ()
    assert any(found in line for line in said.found) if found else said.found == ()


def test_a_query_that_is_executed_twice_is_told_once() -> None:
    """The same name for something else, in the same function, is no query."""
    text = 'def f(c, n):\n q = f"{n}?page={n}"\n q = f"UPDATE t SET a = {n}"\n c.execute(q)\n c.execute(q)\n'
    assert list(built_queries(ast.parse(text))) == [3]


TYPED = {
    "x.ts": ("const x: number = ;\n", "x.ts does not parse: Error: Expression expected"),
    "cut.mts": ("export function f(a: string {\n", "cut.mts does not parse"),
    "ok.ts": ("enum A { B }\nexport const f = <T>(a: T): T => a;\ninterface Q { readonly a?: string }\n", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TYPED))
def test_typescript_is_parsed_where_node_can(
    hooks: Hooks, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Node 22.13 or newer first in PATH: refused with the place, honest files pass."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools" / "agents"))
    import install

    node = os.path.dirname(os.path.realpath(install.ensure("node")))
    monkeypatch.setenv("PATH", node + os.pathsep + os.environ["PATH"])
    (hooks.repo / name).write_text(TYPED[name][0])
    code, out, err = hooks("TaskCompleted", task_id="1")
    assert (code, out) == (2 if TYPED[name][1] else 0, "")
    assert TYPED[name][1] in err if TYPED[name][1] else err == ""


@pytest.mark.parametrize("name", ["x.ts", "x.js", "x.sh"])
def test_what_no_program_here_can_parse_is_told(
    hooks: Hooks, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not checked is not clean: an older Node, or none, allows and says which files nobody parsed."""
    old = tmp_path / "bin" / "node"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\nexit 3\n")  # as this program ends in a Node that knows no TypeScript
    old.chmod(0o755)
    (old.parent / "git").symlink_to(shutil.which("git") or "git")
    monkeypatch.setenv("PATH", str(old.parent))
    (hooks.repo / name).write_text("const x = ;\n")
    code, out, err = hooks("TaskCompleted", task_id="1")
    assert (code, out) == (0, "")
    assert f"no program here could parse {name}" in err


def test_only_added_lines_count_and_git_tells_which(hooks: Hooks) -> None:
    """What was there before is nobody's fault now; without a list from the host, git says what changed."""
    (hooks.repo / "old.py").write_text("def old():\n    breakpoint()\n    return 2\n")
    hooks.git("add", "-A")
    hooks.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "old")
    assert hooks("TaskCompleted", task_id="1") == (0, "", "")
    (hooks.repo / "one.py").write_text("def one():\n    breakpoint()\n    return 1\n")
    code, out, err = hooks("TaskCompleted", task_id="1")
    assert (code, out) == (2, "")
    assert "one.py" in err
    assert "old.py" not in err
    assert hooks("TeammateIdle", files_modified=["old.py"])[0] == 0
    assert hooks("TeammateIdle", files_modified=["one.py"])[0] == 2


def test_a_task_is_kept_open_five_times_at_most(hooks: Hooks) -> None:
    """The sixth time in a row is allowed, and said to be not clean."""
    (hooks.repo / "one.py").write_text("def one(:\n")
    codes = [hooks("TaskCompleted")[0] for _ in range(7)]
    assert codes == [2, 2, 2, 2, 2, 0, 2]
    assert read_session(hooks.state, session_name("claude", "s1")).refused == 6


def test_subagents_are_told_the_task_and_held_to_what_they_added(hooks: Hooks) -> None:
    """Task, checks and the last answer go in; only lines added since it began come back to it."""
    hooks.begin()
    (hooks.repo / "main.py").write_text("def main(:\n")  # the main agent's
    code, out, _ = hooks("SubagentStart", agent_id="a1")
    told = json.loads(out)["hookSpecificOutput"]["additionalContext"]
    assert code == 0
    assert "make it work" in told
    assert hooks("SubagentStop", agent_id="a1")[0] == 0
    (hooks.repo / "sub.py").write_text("def sub(:\n")
    code, _, err = hooks("SubagentStop", agent_id="a1")
    assert code == 2
    assert "sub.py" in err
    assert "main.py" not in err


def test_an_edit_that_no_longer_parses_is_told_at_once(hooks: Hooks) -> None:
    """After the edit, as feedback; a file outside the repository is nobody's business."""
    hooks.begin()
    (hooks.repo / "one.py").write_text("def one(:\n")
    assert hooks("PostToolUse", tool_name="Edit", tool_input={"file_path": "one.py"})[0] == 2
    (hooks.repo / "one.py").write_text("def one():\n    return 1\n")
    assert hooks("PostToolUse", tool_name="Edit", tool_input={"file_path": "one.py"}) == (0, "", "")


def test_a_stop_with_background_tasks_is_not_judged(hooks: Hooks) -> None:
    """The host wakes the agent when they end: that stop is the one that counts."""
    name = hooks.begin()
    code, out, _ = hooks("Stop", background_tasks=[{"id": "1", "status": "running"}])
    assert (code, out) == (0, "")
    assert read_session(hooks.state, name).stops == 0
    assert background_work({"background_tasks": [{"status": "completed"}]}) == 0


def test_a_host_whose_shell_does_not_know_the_id_tells_its_agent(hooks: Hooks) -> None:
    """At its start, once, in the context; the others have it in a variable and hear nothing."""
    assert hooks("SessionStart", "claude") == (0, "", "")
    told = json.loads(hooks("SessionStart", "gemini")[1])
    assert "--host gemini --session s1" in told["hookSpecificOutput"]["additionalContext"]
    assert event_name("AfterAgent") == event_name("agentStop") == event_name("stop") == "Stop"


def test_an_input_of_more_than_100_kb_still_says_whose_it_is() -> None:
    """Only the beginning is read; a long content does not hide which file is written."""
    long = {
        "sessionId": "s1",
        "tool_name": "Write",
        "tool_input": {"file_path": "x", "content": "y" * MAX_BYTES},
    }
    found = read_hook_input(json.dumps(long).encode())
    assert found["session_id"] == "s1"
    assert found["tool_input"] == {"file_path": "x"}


def test_two_sessions_at_once_do_not_mix(hooks: Hooks) -> None:
    """A counter, a task and an end belong to one session of one host."""
    first, second = hooks.begin(), hooks.begin("codex")
    fact = HookAnswered(event="Stop", refused=True, why="red")
    add_fact(hooks.state, first, SystemClock(), lambda _: fact)
    assert read_session(hooks.state, first).refused == 1
    assert read_session(hooks.state, second).refused == 0
