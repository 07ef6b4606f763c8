"""Promise: `ralph status` counts the items of the backlog that the other commands work on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph.app.backlog.line import backlog_line

ITEMS = {"items": [{"status": "PASSING"}, {"status": "BLOCKED"}, {"status": "CANCELLED"}]}


@pytest.mark.parametrize(
    ("file", "settings", "called_in"),
    [
        (".ralph/backlog/feature_list.json", {}, "."),
        (".claude/harness/feature_list.json", {}, "sub"),
        ("todo/list.json", {"ralph.toml": '[backlog]\nfile = "todo/list.json"\n'}, "."),
        ("todo/list.json", {"ralph.toml": '[backlog]\nfile = "todo/list.json"\n'}, "sub"),
        ("todo/list.json", {"pyproject.toml": '[tool.ralph.backlog]\nfile = "todo/list.json"\n'}, "."),
        ("todo/list.json", {"../config/ralph/config.toml": '[backlog]\nfile = "todo/list.json"\n'}, "."),
    ],
)
def test_the_line_counts_the_list_that_is_meant(
    tmp_path: Path, file: str, settings: dict[str, str], called_in: str
) -> None:
    """In its usual places, or where `[backlog] file` says, from any folder of the project."""
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    (top / "sub").mkdir()
    for name, text in {file: json.dumps(ITEMS), **settings}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)}
    line = backlog_line(str(top), str(top / called_in), env)
    assert line == "backlog: 1 of 2 passing, 1 blocked"
