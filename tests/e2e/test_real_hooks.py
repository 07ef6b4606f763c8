"""Ralph inside real agent CLIs: a false "done" is refused, a true one accepted, nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kit
import pytest
from insidekit import HookWorld
from realkit import MENDING

DONE = {"say": "All tests pass, I am done."}
EVERYWHERE = [
    "claude",
    *(pytest.param(one, marks=pytest.mark.agents) for one in ("codex", "gemini", "qwen", "copilot")),
]


@pytest.mark.slow
@pytest.mark.parametrize("host", EVERYWHERE)
def test_a_false_done_is_refused_and_a_verified_one_accepted(tmp_path: Path, host: str) -> None:
    """The real host hears Ralph's reason, goes on, and may stop when the tree is verified; uninstalling
    leaves every file of the host as it was, to the byte."""
    world = HookWorld(tmp_path, host)
    before = world.listing()
    world.do("skills", "install", "--agent", host, "-y")
    assert world.listing() != before
    asked = world.play(("one", [world.start(0), DONE, MENDING, DONE, DONE, DONE]))[0]
    found = world.sessions()[0]
    assert (found["state"], found["refused"]) == ("VERIFIED_DONE (B)", 1), found
    assert "Ralph runs the checks itself" in asked  # the skill's description: the host knows /ralph
    assert "not done yet (refusal 1" in asked
    assert "test_add" in asked
    assert "refusal 2" not in asked
    world.do("skills", "uninstall", "--agent", host, "-y")
    after = world.listing()
    before.pop(".codex/config.toml", None)  # in which Codex itself notes the folders that are trusted
    if host == "qwen":  # it writes its settings anew at each start, with a version: no byte of before is left
        path = ".qwen/settings.json"
        left = json.loads(after.pop(path))
        assert left.pop("$version")
        assert left == json.loads(before.pop(path))
    assert {path: text for path, text in after.items() if path in before} == before
    assert not [path for path in after if "ralph" in path]


@pytest.mark.slow
@pytest.mark.agents
@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "qwen", "copilot"])
def test_the_cap_holds_also_where_the_host_has_none(tmp_path: Path, host: str) -> None:
    """An agent that only says done is refused five times, then let go, and never called verified."""
    world = HookWorld(tmp_path, host)
    world.do("skills", "install", "--agent", host, "-y")
    asked = world.play(("one", [world.start(0), *[DONE] * 9]))[0]
    found = world.sessions()[0]
    assert (found["refused"], found["verified"], found["last"]["why"]) == (5, False, "cap"), found
    assert "refusal 5 of" in asked


@pytest.mark.slow
@pytest.mark.agents
def test_a_host_that_listens_only_twice_is_refused_only_twice(tmp_path: Path) -> None:
    """Never past the host's own cap: the third stop is Ralph's allowance, and not the host's override."""
    world = HookWorld(tmp_path, "claude")
    world.do("skills", "install", "--agent", "claude", "-y")
    asked = world.play(("one", [world.start(0), *[DONE] * 9]), CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="2")[0]
    found = world.sessions()[0]
    assert (found["refused"], found["verified"], found["last"]["why"]) == (2, False, "cap"), found
    assert "refusal 2 of at most 2 in a row" in asked


@pytest.mark.slow
@pytest.mark.agents
@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "qwen", "copilot"])
def test_two_sessions_at_once_in_one_repository_do_not_mix(tmp_path: Path, host: str) -> None:
    """Two sessions of one host work in the same files at the same time, each held to its own check: one ends
    verified, and the other is refused five times for what its own check says."""
    world = HookWorld(tmp_path, host)
    world.do("skills", "install", "--agent", host, "-y")
    asked = world.play(
        ("one", [world.start(0), MENDING, *[DONE] * 3]),
        ("one", [world.start(1, "test -e never.txt"), *[DONE] * 9]),
    )
    by_id = {one["session"]: one for one in world.sessions()}
    assert len(by_id) == 2
    ended = {one["state"]: one["refused"] for one in by_id.values() if one["verified"]}
    assert list(ended) == ["VERIFIED_DONE (B)"], by_id
    other = next(one for one in by_id.values() if not one["verified"])
    assert (other["refused"], other["last"]["why"]) == (5, "cap"), other
    assert "refusal 5 of" not in asked[0]
    assert "refusal 5 of" in asked[1]


@pytest.mark.slow
@pytest.mark.agents
@pytest.mark.parametrize("host", ["claude", "qwen"])
def test_a_session_of_a_real_host_goes_on_outside(tmp_path: Path, host: str) -> None:
    """`/ralph continue outside`: the agent types the command, may stop, and the user attaches to the loop."""
    world = HookWorld(tmp_path, host)
    world.do("skills", "install", "--agent", host, "-y")
    go_on = world.type(0, "session", "continue", "--agent-cmd", kit.agent("honest_steps", 1))
    world.play(("one", [world.start(0), DONE, go_on, *[DONE] * 3]))
    shown = world.do("attach", "--display", "plain")
    assert "VERIFIED" in shown
    found = world.sessions()[0]
    assert (found["refused"], found["ended"]["outcome"]) == (1, "continued"), found
    (loop,) = json.loads(world.do("status", "--json", "--all"))["loops"]
    assert loop["outcome"] == "verified"
    assert found["ended"]["loop"] in loop["loop"]
    world.do("worker", "stop")


HALF = {"bash": "printf 'def half(n):\\n    breakpoint()\\n    return n / 2\\n' > half.py"}
CLEAN = {"bash": "sed -i /breakpoint/d half.py"}
LEFT = "line 2 of half.py has breakpoint()"


def tool(name: str, **given: str) -> dict[str, object]:
    return {"tool": {"name": name, "input": given}}


@pytest.mark.slow
@pytest.mark.agents
def test_a_teammate_in_a_real_host_is_held_back_by_what_it_added(tmp_path: Path) -> None:
    """Started as its own teams start one, Claude Code asks before a task is completed and before the teammate
    is idle; it hears what is left in the added lines, and may go once they are clean."""
    world = HookWorld(tmp_path, "claude")
    world.do("skills", "install", "--agent", "claude", "-y")
    done = tool("TaskUpdate", taskId="1", status="completed")
    asked = world.play(
        (
            "one",
            [
                HALF,
                tool("TaskCreate", subject="halve", description="write half()"),
                done,
                DONE,
                CLEAN,
                done,
                DONE,
            ],
        ),
        flags=("--agent-id", "helper@loop", "--agent-name", "helper", "--team-name", "loop"),
        CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS="1",
        CLAUDE_CODE_ENABLE_TODO_TOOLS="1",
    )[0]
    last = json.loads(asked.splitlines()[-1])["body"]["messages"]
    told = [block["text"] for block in _blocks(last) if block["type"] == "text"]
    assert [LEFT in one for one in told if "TeammateIdle hook feedback" in one] == [True]
    results = [str(block["content"]) for block in _blocks(last) if block["type"] == "tool_result"]
    refused = [one for one in results if "TaskCompleted hook feedback" in one]
    assert [LEFT in one for one in refused] == [True]
    assert "Updated task #1 status" in results[-1]


def _blocks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [message["content"] for message in messages]
    return [
        block
        for content in found
        for block in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


@pytest.mark.slow
@pytest.mark.agents
def test_a_subagent_of_a_real_host_has_the_task_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """It is told task and check when it begins, and sent back while its own lines hold a leftover; and what
    would destroy work is denied."""
    world = HookWorld(tmp_path, "claude")
    world.do("skills", "install", "--agent", "claude", "-y")
    send = tool("Agent", description="halve", prompt="write half()", subagent_type="general-purpose")
    asked = world.play(
        ("one", [world.start(0), {"bash": "git reset --hard"}, send, MENDING, DONE, DONE, DONE]),
        sub=[HALF, DONE, CLEAN, DONE],
    )[0]
    requests = [json.loads(line) for line in asked.splitlines()]
    sub = [json.dumps(one["body"]) for one in requests if one.get("lane") == "sub"]
    assert "Ralph judges this session. Task: make the tests pass" in sub[0]
    assert LEFT not in sub[1]
    assert LEFT in sub[2], "sent back with the reason"
    assert len(sub) == 4
    assert "`git reset --hard` would destroy work" in asked
    assert world.sessions()[0]["state"] == "VERIFIED_DONE (B)", world.sessions()


@pytest.mark.slow
@pytest.mark.agents
def test_opencode_has_the_skill_and_starts_loops_outside(tmp_path: Path) -> None:
    """It has no hook that could hold a session back, so its agent is told to start a loop: the skill is in
    what the model hears, the loop ends verified, and uninstalling leaves nothing."""
    world = HookWorld(tmp_path, "opencode")
    before = world.listing()
    world.do("skills", "install", "--agent", "opencode", "-y")
    (tmp_path / "task.md").write_text("make the tests pass\n")
    start = world.type(
        0, "loop", "-d", "--task-file", str(tmp_path / "task.md"), "--check", "python3 -m unittest",
        "--agent-cmd", kit.agent("honest_steps", 1),
    )  # fmt: skip
    asked = world.play(("one", [start, DONE, DONE]))[0]
    assert "Ralph runs the checks itself" in asked  # the skill's description
    assert "VERIFIED" in world.do("attach", "--display", "plain")
    world.do("worker", "stop")
    world.do("skills", "uninstall", "--agent", "opencode", "-y")
    assert {path: text for path, text in world.listing().items() if path in before} == before
    assert not [path for path in world.listing() if "ralph" in path]


@pytest.mark.slow
def test_the_plugin_is_valid_for_its_host(tmp_path: Path) -> None:
    """`claude plugin validate` has nothing against what `ralph skills` writes."""
    import subprocess

    world = HookWorld(tmp_path, "claude")
    world.do("skills", "install", "--agent", "claude", "-y")
    argv = [world.exe, "plugin", "validate", str(world.home / ".claude" / "skills" / "ralph")]
    done = subprocess.run(argv, capture_output=True, text=True, env=world.env, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Validation passed" in done.stdout
