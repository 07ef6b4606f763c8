"""A journal that is gone, empty or no file is damage where loops were recorded, and only there."""

from __future__ import annotations

import os

import pytest

from ralph.errors import JournalError
from ralph.shell.journal.open import open_journal, read_journal

OPENERS = [lambda root: read_journal(root).names(), open_journal]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "loops").mkdir()
    return tmp_path


@pytest.mark.parametrize("open_it", OPENERS)
@pytest.mark.parametrize("empty", [True, False])
def test_loops_without_their_record_are_damage(root, open_it, empty):
    """Not "no loops": the error counts and names them, for readers and writers."""
    (root / "loops" / "fix-auth" / "git").mkdir(parents=True)
    if empty:
        (root / "journal.db").touch(mode=0o600)
    with pytest.raises(JournalError) as seen:
        open_it(str(root))
    assert seen.value.code == "E-JOURNAL-LOST"
    assert "fix-auth" in seen.value.why
    assert not os.path.exists(root / "journal.db") or os.path.getsize(root / "journal.db") == 0


def test_the_step_that_is_named_helps(root):
    """What the error says to do, done in a shell, gives a working state directory again."""
    (root / "loops" / "fix-auth" / "git").mkdir(parents=True)
    (root / "workspaces").mkdir()
    with pytest.raises(JournalError) as seen:
        open_journal(str(root))
    assert os.system(seen.value.next) == 0
    with open_journal(str(root)) as journal:
        assert journal.names() == []


@pytest.mark.parametrize("open_it", OPENERS)
def test_a_pipe_is_refused_at_once(root, open_it):
    """Opening it would wait for ever."""
    os.mkfifo(root / "journal.db")
    with pytest.raises(JournalError) as seen:
        open_it(str(root))
    assert (seen.value.code, "pipe" in seen.value.why) == ("E-JOURNAL-UNUSABLE", True)


def test_a_folder_of_a_loop_that_was_refused_is_no_damage(root):
    """Only its lock was made."""
    (root / "loops" / "refused").mkdir()
    (root / "loops" / "refused" / "lock").touch()
    with open_journal(str(root)) as journal:
        assert journal.names() == []
