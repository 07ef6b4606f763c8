"""The generated parts of the documentation are what the program says now."""

import os
import re
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from shutil import which

import pytest
from cogapp import Cog

from ralph.core.model.outcome import OUTCOMES, PHASES
from ralph.core.model.plan.plan_state import PURPOSE
from ralph.shell.agent_call.launch import ROLE_PURPOSE

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.mark.parametrize("page", ["agents.md", "architecture.md", "commands.md", "config.md", "json.md"])
def test_pages_are_in_step(page, capsys):
    """`make docs` would change nothing."""
    code = Cog().main(["cog", "--check", "-I", os.path.join(TOP, "tools"), os.path.join(TOP, "docs", page)])
    assert code == 0, f"docs/{page} is out of date: make docs\n{capsys.readouterr().out}"


def test_every_answer_names_a_file_that_exists():
    """ "Where is it decided?" has at least 25 questions, and each answer is there."""
    page = (Path(TOP) / "docs" / "architecture.md").read_text()
    table = page.split("## Where is it decided?")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if "?" in line]
    assert len(rows) >= 25
    for row in rows:
        named = re.findall(r"`([\w/.]+/[\w/.]*)`", row.rpartition("?")[2])
        assert named, row
        assert all((Path(TOP) / "src" / "ralph" / name).exists() for name in named), row


@pytest.mark.parametrize("note", sorted((Path(TOP) / "design").glob("*.md")), ids=lambda note: note.stem)
def test_every_design_note_has_a_status(note):
    """A reader sees at once whether a note describes what is built."""
    assert re.search(r"^Status: (?:built|part|plan|rooms)", note.read_text(), re.MULTILINE), note


def test_the_glossary_has_every_word_of_the_code():
    """Phases, outcomes and purposes of calls are named where a reader looks for words."""
    page = (Path(TOP) / "docs" / "concepts.md").read_text()
    rows = dict(re.findall(r"^\| (phase|outcome|purpose) \| (.*) \|$", page, re.MULTILINE))
    words = {"phase": PHASES, "outcome": OUTCOMES, "purpose": {*PURPOSE.values(), *ROLE_PURPOSE.values()}}
    missing = {(row, word) for row, each in words.items() for word in each if word not in rows[row]}
    assert not missing


def test_nobody_reads_odd_english():
    """Phrases that read like a translation do not come back into screens, errors, prompts or docs."""
    tool = run_path(os.path.join(TOP, "tools", "english.py"))
    assert tool["findings"]() == []


def test_the_manual_page_is_in_step():
    """`man ralph` says what the commands say; `make docs` would change nothing."""
    sys.path.insert(0, os.path.join(TOP, "tools"))
    try:
        import man
    finally:
        sys.path.pop(0)
    assert man.PAGE.read_text(encoding="utf-8") == man.page(), "make docs"


@pytest.mark.skipif(which("groff") is None, reason="no groff here")
def test_the_manual_page_is_one_that_man_reads():
    """groff finds nothing wrong with it."""
    page = os.path.join(TOP, "data", "share", "man", "man1", "ralph.1")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tascii", page], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "ralph loop" in done.stdout
