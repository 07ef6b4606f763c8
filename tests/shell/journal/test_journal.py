"""What only SQLite shows of the journal: its file, its processes, its columns. The rest: test_contract."""

import os
import sqlite3
import stat
import sys

import pytest
from journal_kit import add, child, fill, finish, new, seqs

from ralph.errors import Bug, RalphError
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.rows import FILE
from ralph.shell.journal.selection import resolve
from ralph.shell.journal.store import JournalRow, row_hash


@pytest.fixture
def journal(tmp_path):
    with open_journal(str(tmp_path)) as opened:
        yield opened


def test_file_is_private(tmp_path, journal):
    """No other user can read the journal, whatever the umask is."""
    new(journal, "fix-1")
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600


def test_every_append_is_synced(journal):
    """Appends are durable on return: WAL with a sync for each commit."""
    assert journal._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert journal._writer.execute("PRAGMA synchronous").fetchone() == (2,)


def test_chain_is_framed():
    """Bytes that move from one field to its neighbour change the hash."""
    base = JournalRow("ab", 1, 1, "cd", 1, b"ef", "")
    others = [
        JournalRow("abc", 1, 1, "d", 1, b"ef", ""),
        JournalRow("ab", 1, 1, "cde", 1, b"f", ""),
        JournalRow("ab", 11, 1, "cd", 1, b"ef", ""),
        JournalRow("ab", 1, 11, "cd", 1, b"ef", ""),
        JournalRow("ab", 1, 1, "cd", 11, b"ef", ""),
    ]
    hashes = {row_hash("", row) for row in (base, *others)} | {row_hash("ab", base)}
    assert len(hashes) == 7


def test_chain_never_changes():
    """The hash of a known row is what it was in the first release; old journals stay readable."""
    row = JournalRow("fix-1", 2, 1700000000000, "fact", 3, b'{"x":1}', "")
    assert row_hash("0" * 64, row) == "b8e5d018c400cbcd87f47d3f823324e947119e1ec90f36eced6680efba9bf435"


def test_fence_between_two_writers(tmp_path, journal):
    """Of two writers in two processes that believe in the same last row, exactly one appends."""
    new(journal, "fix-1")
    code = """
with open_journal(directory) as journal:
    print("ready", flush=True); sys.stdin.readline()
    try:
        journal.append("fix-1", 1, at=5, kind="theirs", v=1, body=b"{}"); print("won")
    except RalphError as exc:
        print(exc.code)
"""
    other = child(code, tmp_path, stdin=-1)
    assert other.stdout.readline() == "ready\n"
    add(journal, "fix-1", 1)
    other.stdin.write("\n")
    other.stdin.flush()
    assert finish(other) == "E-JOURNAL-FENCED"
    assert seqs(tmp_path, "fix-1") == [1, 2]


def test_inbox_from_another_process(tmp_path, journal):
    """A command left by a second process is seen by the runner, and taken once."""
    new(journal, "fix-1")
    code = """
with open_journal(directory) as journal:
    print(journal.inbox_put("fix-1", 9, "steer", b'{"text":"use tabs"}'))
"""
    number = int(finish(child(code, tmp_path)))
    (command,) = journal.inbox_open("fix-1")
    assert (command.id, command.kind, command.body) == (number, "steer", b'{"text":"use tabs"}')
    add(journal, "fix-1", 1, taken=(number,))
    assert journal.inbox_open("fix-1") == []
    with pytest.raises(Bug, match="taken before"):
        add(journal, "fix-1", 2, taken=(number,))
    db = sqlite3.connect(tmp_path / FILE)
    assert db.execute("SELECT id, taken FROM inbox").fetchall() == [(number, 2)]
    db.close()
    assert seqs(tmp_path, "fix-1") == [1, 2]


def test_resolve(tmp_path, journal):
    """A loop is found by name, by id and by a beginning of either; an exact name wins."""
    for name in ("fix", "fix-tests-1a", "docs-2b", "ralph-is-slow-3c"):
        new(journal, name)
    with read_journal(str(tmp_path)) as reader:
        assert resolve(reader, "fix") == ["fix"]
        assert resolve(reader, "ralph-fix") == ["fix"]
        assert resolve(reader, "fi") == ["fix", "fix-tests-1a"]
        assert resolve(reader, "ralph-docs") == ["docs-2b"]
        assert resolve(reader, "ralph-is") == ["ralph-is-slow-3c"]
        assert resolve(reader, "ralph-ralph-is") == ["ralph-is-slow-3c"]
        assert resolve(reader, "") == []
        assert resolve(reader, "%") == []


def test_moved_journal_is_not_written(tmp_path, journal):
    """When the files were moved away, an append fails instead of vanishing with them."""
    new(journal, "fix-1")
    (tmp_path / FILE).rename(tmp_path / "elsewhere")
    with pytest.raises(RalphError) as caught:
        add(journal, "fix-1", 1)
    assert caught.value.code == "E-JOURNAL-MOVED"
    (tmp_path / "elsewhere").rename(tmp_path / FILE)
    with pytest.raises(RalphError, match="moved or removed"):
        add(journal, "fix-1", 1)


def test_two_writers_and_a_reader_in_one_process(tmp_path):
    """Opening and closing a second journal in the same process takes nothing from the first."""
    with open_journal(str(tmp_path)) as first:
        new(first, "one")
        with open_journal(str(tmp_path)) as second, read_journal(str(tmp_path)) as reader:
            new(second, "two")
            assert reader.names() == ["one", "two"]
        add(first, "one", 1)
        assert finish(child("print(len(read_journal(directory).names()))", tmp_path)) == "2"
        add(first, "one", 2)
    assert seqs(tmp_path, "one") == [1, 2, 3]


def test_reading_lists_does_not_import_the_heavy():
    """Listing loops costs little start-up: none of the slow modules is loaded for it."""
    code = """
import sys
from ralph.shell.journal.open import read_journal
read_journal("/nonexistent").summaries()
print(sorted({"rich", "jinja2", "asyncio", "psutil", "shutil", "tempfile", "hashlib"} & set(sys.modules)))
"""
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_long_loop_is_read_in_pages(tmp_path):
    """A loop longer than a page of reading comes whole, from any point on."""
    fill(tmp_path, "long", 200)
    assert seqs(tmp_path, "long") == list(range(1, 201))
    with read_journal(str(tmp_path)) as reader:
        assert [row.seq for row in reader.rows("long", after=130)] == list(range(131, 201))


def test_schema_is_what_others_may_query(tmp_path):
    """The columns are those of version 1: a change needs a migration."""
    open_journal(str(tmp_path)).close()
    db = sqlite3.connect(tmp_path / FILE)
    columns = {
        table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        for table in ("event", "summary", "inbox")
    }
    db.close()
    assert columns == {
        "event": ["loop", "seq", "at", "kind", "v", "hash", "body"],
        "summary": ["loop", "seq", "repo", "phase", "outcome", "updated", "body", "hash"],
        "inbox": ["id", "loop", "at", "kind", "body", "taken"],
    }
