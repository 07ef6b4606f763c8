"""Ralph in a host's folders: what is written is shown, known, kept up to date, and removed to the byte."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ralph.app.skills.install import (
    apply_install,
    apply_uninstall,
    diff_lines,
    plan_install,
    plan_uninstall,
    skill_state,
)
from ralph.app.skills.layout import Skill, host_table, own_files, skill_for
from ralph.core.session.hosts import HOST_FACTS
from ralph.errors import UserError
from ralph.ui.cli.main import main

MINE = '{\n   "theme":"dark", "n": 1e3,\n   "hooks": {"AfterAgent": [ {"hooks": []} ], "Stop": []}\n}'
BOTH = [(host, scope) for host in HOST_FACTS for scope in ("user", "project")]


def listing(top: Path) -> dict[str, bytes | None]:
    return {str(one.relative_to(top)): one.read_bytes() if one.is_file() else None for one in top.rglob("*")}


def skill_in(
    top: Path, host: str, scope: str = "user", *, goal: bool = False
) -> tuple[Skill, dict[str, str]]:
    env = {"HOME": str(top / "home"), "XDG_CONFIG_HOME": str(top / "config")}
    (top / "home").mkdir(exist_ok=True)
    return skill_for(host, scope, str(top / "home"), env, goal=goal), env  # type: ignore[arg-type]


def settings_of(skill: Skill) -> Path | None:
    pair = host_table()[skill.host].get("settings")
    return Path(skill.path(pair)) if pair else None


def install(skill: Skill, env: dict[str, str]) -> None:
    apply_install(skill, env, plan_install(skill, env))


@pytest.mark.sample(check=15)
@pytest.mark.parametrize(("host", "scope"), BOTH)
@pytest.mark.parametrize("before", [None, MINE, "{}", '{"a": 1}\n', '{"a": 1,\n "hooks": { } }'])
def test_uninstalling_leaves_everything_as_it_was(
    tmp_path: Path, host: str, scope: str, before: str | None
) -> None:
    """Files, folders and settings, to the byte, also after an update in between."""
    skill, env = skill_in(tmp_path, host, scope)
    path = settings_of(skill)
    if path is not None and before is not None:
        path.parent.mkdir(parents=True)
        path.write_text(before)
    was = listing(tmp_path / "home")
    assert skill_state(skill, env) == "not installed"
    install(skill, env)
    assert skill_state(skill, env) == "installed"
    assert plan_install(skill, env) == []
    install(replace(skill, goal=bool(HOST_FACTS[host].goal)), env)
    changes, kept = plan_uninstall(skill, env)
    apply_uninstall(skill, env, changes)
    assert kept == []
    assert listing(tmp_path / "home") == was
    assert not [one for one in (tmp_path / "config").rglob("*") if one.is_file()]


@pytest.mark.parametrize("host", [one for one in HOST_FACTS if "settings" in host_table()[one]])
def test_settings_that_were_edited_since_lose_only_ralphs_entries(tmp_path: Path, host: str) -> None:
    """What the user added meanwhile stays, and so do the user's own hooks."""
    skill, env = skill_in(tmp_path, host)
    path = settings_of(skill)
    assert path
    path.parent.mkdir(parents=True)
    path.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}')
    install(skill, env)
    path.write_text(path.read_text().replace('{"hooks"', '{"added": true, "hooks"', 1))
    assert skill_state(skill, env) == "installed"
    apply_uninstall(skill, env, plan_uninstall(skill, env)[0])
    left = json.loads(path.read_text())
    assert left["added"] is True
    assert left["hooks"]["Stop"] == [{"hooks": [{"type": "command", "command": "mine"}]}]
    assert "ralph" not in path.read_text()


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    """Neither a skill of the same name nor settings that are no JSON are touched."""
    skill, env = skill_in(tmp_path, "gemini")
    path = Path(next(iter(own_files(skill))))
    path.parent.mkdir(parents=True)
    path.write_text("my own skill")
    with pytest.raises(UserError, match="did not write"):
        plan_install(skill, env)
    path.unlink()
    settings = settings_of(skill)
    assert settings
    settings.write_text('{\n // a comment\n "a": 1}')
    with pytest.raises(UserError, match="not a JSON object"):
        plan_install(skill, env)


def test_stale_and_edited_copies_are_told(tmp_path: Path) -> None:
    """The package is the only source: another text in a host is stale when Ralph wrote it, else edited."""
    skill, env = skill_in(tmp_path, "claude")
    install(skill, env)
    path = Path(next(one for one in own_files(skill) if one.endswith("SKILL.md")))
    path.write_text(path.read_text() + "mine\n")
    assert skill_state(skill, env) == "edited"
    changes, kept = plan_uninstall(skill, env)
    assert kept == [str(path)]
    install(skill, env)
    assert skill_state(skill, env) == "installed"
    note = next(one for one in (tmp_path / "config").rglob("*.json"))
    old = path.read_text().replace("Ralph", "Relph")
    path.write_text(old)
    import hashlib

    known = json.loads(note.read_text())
    known["files"][str(path)] = hashlib.sha256(old.encode()).hexdigest()
    note.write_text(json.dumps(known))
    assert skill_state(skill, env) == "stale"
    assert any("Relph" in line for line in diff_lines(plan_install(skill, env)))
    assert changes


@pytest.mark.parametrize("host", [one for one in HOST_FACTS if HOST_FACTS[one].goal])
def test_native_goal_and_stop_gate_are_never_both_there(tmp_path: Path, host: str) -> None:
    """With the host's own goal there is no Stop hook, and the skill says how to type it."""
    for goal in (True, False):
        skill, env = skill_in(tmp_path, host, goal=goal)
        install(skill, env)
        text = "\n".join(str(one) for one in listing(tmp_path / "home").values())
        assert ("hook Stop" in text) is not goal
        assert ("/goal ralph session verify" in text) is goal


@pytest.mark.parametrize("host", HOST_FACTS)
def test_every_trigger_phrase_is_in_the_description(tmp_path: Path, host: str) -> None:
    """The host chooses the skill by its description: each phrase of both systems is in it, within 1,024."""
    skill, _ = skill_in(tmp_path, host)
    text = next(text for path, text in own_files(skill).items() if path.endswith("SKILL.md"))
    head = text.split("---")[1]
    said = next(line for line in head.splitlines() if line.startswith("description: "))
    assert len(json.loads(said.removeprefix("description: "))) <= 1024
    for phrase in (
        "/loop", "/iterate", "loop until done", "'iterate'", "'keep trying'", "fix until passing", "/ralph",
        "ralph this: X", "ralph: X", "al: X", "ralph it", "keep trying until X", "loop until X",
        "iterate until X", "keep fixing until X", "run until passes", "fix until green", "address issues",
        "handle all listed issues", "'agent-loop'", "external", "background", "daemon", "detached",
        "crash-resilient", "survives session", "resume later", "unattended", "agent-loop-ext",
        "ralph-external", "/orchestrator", "/parallel", "/retrospective",
    ):  # fmt: skip
        assert phrase in said
    assert "ralph route" in text
    assert os.path.isabs(next(iter(own_files(skill))))


def test_the_choice_between_goal_and_stop_gate_is_offered_shown_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Installing names the other way, `status` shows limit and choice, and an update changes neither."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)

    def ralph(*words: str) -> str:
        assert main(["skills", *words]) == 0
        return capsys.readouterr().out

    assert "--agent claude --user --goal native" in ralph("install", "--agent", "claude", "-y")
    assert "Stop gate, answers within 120 s (or /goal: install --goal native)" in ralph("status")
    ralph("install", "--agent", "claude", "--goal", "native", "-y")
    assert "up to date" in ralph("install", "--agent", "claude", "-y")
    assert "/goal (or Stop gate: install --goal ralph)" in ralph("status")
    assert not [one for one in tmp_path.rglob("hooks.json") if "hook Stop" in one.read_text()]
    shown = ralph("status", "--agent", "claude", "--project").splitlines()
    assert [line.split()[:4] for line in shown[:-1]] == [["claude", "project", "not", "installed"]]
