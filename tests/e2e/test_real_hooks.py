"""Ralph inside real agent CLIs: a false "done" is refused, a true one accepted, nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from insidekit import HookWorld
from realkit import MENDING

DONE = {"say": "All tests pass, I am done."}
EVERYWHERE = [
    "claude",
    *(pytest.param(one, marks=pytest.mark.agents) for one in ("codex", "gemini", "qwen", "copilot")),
]
UNCAPPED = [
    "codex",
    *(pytest.param(one, marks=pytest.mark.agents) for one in ("claude", "gemini", "qwen", "copilot")),
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
@pytest.mark.parametrize("host", UNCAPPED)
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
@pytest.mark.parametrize("host", ["claude", "codex"])
def test_two_sessions_at_once_do_not_mix(tmp_path: Path, host: str) -> None:
    """Of two sessions of one host at the same time, one ends verified and the other does not."""
    world = HookWorld(tmp_path, host)
    world.do("skills", "install", "--agent", host, "-y")
    world.play(
        ("one", [world.start(0), MENDING, DONE, DONE]),
        ("two", [world.start(1), *[DONE] * 9]),
    )
    first, second = world.sessions("one")[0], world.sessions("two")[0]
    assert (first["state"], first["refused"]) == ("VERIFIED_DONE (B)", 0)
    assert (second["verified"], second["refused"]) == (False, 5)
    assert first["session"] != second["session"]


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
