"""Promise: PRDs are made, shown and converted from the command line, and no file is ever replaced."""

from __future__ import annotations

import json

import pytest
from kit import Place


@pytest.mark.slow
def test_a_prd_from_template_to_item(place: Place) -> None:
    """What `template` prints is valid; `create` never replaces a file; the item of a PRD is shown with it."""
    made = place.ralph("prd", "create", "FEAT-001", "Log in with a token")
    assert made.code == 0, made.err
    path = place.repo / ".ralph/prd/FEAT-001.md"
    path.write_text(path.read_text() + "\nMine.\n")
    assert place.ralph("prd", "create", "FEAT-001", "Another title").code == 2
    (place.repo / ".ralph/prd/FEAT-002.json").symlink_to("nowhere")
    (place.repo / ".ralph/prd/OLD-1.md").write_bytes(b"\xff\xfe")  # what cannot be read stops nobody
    refused = place.ralph("prd", "create", "FEAT-002", "Another title")
    assert (refused.code, "E-BACKLOG-EXISTS" in refused.err) == (2, True)
    for name, title in (
        ("../FEAT-003", "Leads out of it"),
        ("FEAT-003", "ab"),
        ("FEAT-003", "two\n---\nlines"),
    ):
        assert "E-BACKLOG-BAD-ID" in place.ralph("prd", "create", name, title).err
    assert path.read_text().endswith("Mine.\n")
    assert sorted(one.name for one in path.parent.iterdir()) == ["FEAT-001.md", "FEAT-002.json", "OLD-1.md"]

    assert place.ralph("backlog", "init", "-y").code == 0
    (found,) = json.loads(place.ralph("prd", "status", "FEAT-001", "--json").out)["prds"]
    assert (found["title"], found["problems"]) == ("Log in with a token", [])
    assert [(one["id"], one["status"]) for one in found["items"]] == [("FEAT-001", "FAILING")]
    assert [one["persona"] for one in found["stories"]] == ["kind of user"]
    assert "1 FAILING" in place.ralph("prd", "list").out
    assert "ralph prd list" in place.ralph("prd", "status", "FEAT-009").err
    (place.repo / "T.md").write_text(place.ralph("prd", "template").out)
    converted = place.ralph("prd", "convert", "T.md")
    assert (converted.code, len(json.loads(converted.out)["stories"])) == (0, 1)
    (place.repo / "E.md").write_text("# Nothing\n")
    empty = place.ralph("prd", "convert", "E.md")
    assert (empty.code, "no user story" in empty.err) == (6, True)


def test_a_task_is_estimated_and_nothing_starts(place: Place) -> None:
    """From words or a file; afterwards there is no loop."""
    (place.repo / "task.md").write_text("fix a typo\n")
    said = json.loads(place.ralph("classify", "@task.md", "--json").out)
    assert (said["route"], said["commands"]) == ("FAST_PATH", ["ralph loop 'fix a typo' --max-iterations 3"])
    assert "FAST_PATH" in place.ralph("classify", "fix", "a", "typo").out
    assert place.ralph("classify").code == 2
    assert json.loads(place.ralph("status", "--json").out)["loops"] == []
