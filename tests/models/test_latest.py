"""What `make agents-latest` prints is what really changed."""

import json
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools" / "agents"
sys.path.insert(0, str(TOOLS))

import install  # noqa: E402
import latest  # noqa: E402


def recording(folder, lines, code, tools):
    (folder / "claude").mkdir(parents=True)
    (folder / "claude" / "success.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    row = {"exit": [code], "files": ["a"], "tools": tools}
    (folder / "index.json").write_text(json.dumps({"claude": {"success": row}}))


def test_changes_in_events_exit_codes_and_tools_are_told(tmp_path):
    """Each new or lost kind of event, each other exit code, each tool that came or went, and nothing else."""
    text = {"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}}
    old = [{"type": "system", "subtype": "init"}, text, {"type": "result"}]
    new = [{"type": "system", "subtype": "init"}, text, {"type": "item", "item": {"type": "news"}}]
    recording(tmp_path / "old", old, 0, ["Read", "Write"])
    recording(tmp_path / "new", new, 3, ["Read", "Create"])
    assert latest.compare("claude", ["success"], str(tmp_path / "new"), str(tmp_path / "old")) == [
        "  success: - event result",
        "  success: + event item",
        "  success: + event item > news",
        "  success: exit [0] -> [3]",
        "  - tool Write",
        "  + tool Create",
    ]
    assert latest.compare("claude", ["success"], str(tmp_path / "old"), str(tmp_path / "old")) == []


def test_every_pin_can_be_taken_off():
    """The newest version is asked for by name alone, of every agent."""
    for name, pin in install.pins().items():
        free = latest.unpinned(pin)
        assert "==" not in str(free), name
        assert free.get("npm", "@latest").endswith("@latest"), name
        assert free["version"] == ""
