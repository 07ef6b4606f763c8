"""Appending, fencing, summaries, the inbox: what the journal does on a good day."""

import json
import os
import sqlite3
import stat
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journal_kit import add, child, fill, finish, new, seqs

from ralph.errors import Bug, Busy, RalphError, UserError
from ralph.shell.journal.rows import row_hash
from ralph.shell.journal.writer import (
    BODY_LIMIT,
    FILE,
    JournalRow,
    SummaryRow,
    export,
    open_journal,
    read_journal,
    resolve,
)


@pytest.fixture
def journal(tmp_path):
    with open_journal(str(tmp_path)) as opened:
        yield opened


def test_rows_come_back_as_they_were_appended(tmp_path, journal):
    """What was appended is read back, in order, bit for bit."""
    first = new(journal, "fix-1", body=b'{"a":1}')
    second = add(journal, "fix-1", 1, b"\x00\xff not even JSON")
    with read_journal(str(tmp_path)) as reader:
        assert list(reader.rows("fix-1")) == [first, second]
        assert list(reader.rows("fix-1", after=1)) == [second]
        assert list(reader.rows("fix-1", after=2)) == []
        assert list(reader.rows("other")) == []
    assert list(journal.rows("fix-1", after=1)) == [second]
    assert (first.seq, second.seq, second.kind, second.at) == (1, 2, "fact", 1001)


def test_file_is_private(tmp_path, journal):
    """No other user can read the journal, whatever the umask is."""
    new(journal, "fix-1")
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600


def test_every_append_is_synced(journal):
    """Appends are durable on return: WAL with a sync for each commit."""
    assert journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)


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


def test_fenced_writer_changes_nothing(tmp_path, journal):
    """A fenced append leaves neither row nor summary nor a taken command."""
    new(journal, "fix-1")
    add(journal, "fix-1", 1)
    number = journal.inbox_put("fix-1", 1, "pause", b"{}")
    with pytest.raises(Busy) as caught:
        add(journal, "fix-1", 1, summary=SummaryRow("fix-1", "/repo", "ended"), taken=(number,))
    assert (caught.value.code, caught.value.exit_code) == ("E-JOURNAL-FENCED", 5)
    with read_journal(str(tmp_path)) as reader:
        assert [row.seq for row in reader.rows("fix-1")] == [1, 2]
        assert reader.summaries()[0].phase == "working"
    assert [command.id for command in journal.inbox_open("fix-1")] == [number]


def test_gap_is_refused(tmp_path, journal):
    """An append beyond the end, as after a drop by someone else, is refused."""
    new(journal, "fix-1")
    journal.forget("fix-1", 1)
    with pytest.raises(Busy, match="last row is 0, expected 1"):
        add(journal, "fix-1", 1)
    with pytest.raises(Bug):
        add(journal, "fix-1", 0)


def test_loop_is_created_once(journal):
    """A second loop of the same name is refused, with what to do instead."""
    new(journal, "fix-1")
    with pytest.raises(UserError) as caught:
        new(journal, "fix-1")
    assert (caught.value.code, caught.value.next) == ("E-LOOP-EXISTS", "ralph resume fix-1")


def test_bad_names_are_not_created(journal):
    """A name that could leave its directory never gets into the journal."""
    with pytest.raises(UserError, match="not allowed"):
        new(journal, "../etc")


def test_large_body_is_our_bug(journal):
    """A body at the limit fits, one byte more is refused and nothing is written."""
    new(journal, "fix-1")
    add(journal, "fix-1", 1, b"x" * BODY_LIMIT)
    with pytest.raises(Bug, match="at most 65536"):
        add(journal, "fix-1", 2, b"x" * (BODY_LIMIT + 1))
    with pytest.raises(Bug):
        journal.inbox_put("fix-1", 1, "steer", b"x" * (BODY_LIMIT + 1))
    assert [row.seq for row in journal.rows("fix-1")] == [1, 2]


def test_summary_goes_with_its_row(tmp_path, journal):
    """A summary is that of the row it came with, and newer ones are listed first."""
    new(journal, "one")
    new(journal, "two")
    add(journal, "one", 1, summary=SummaryRow("one", "/repo", "ended", "verified", b"{}"))
    with read_journal(str(tmp_path)) as reader:
        one, two = reader.summaries()
        assert (one.loop, one.seq, one.phase, one.outcome, one.updated) == (
            "one",
            2,
            "ended",
            "verified",
            1001,
        )
        assert (two.loop, two.seq) == ("two", 1)
        assert reader.summaries(limit=1) == [one]
        assert reader.summaries(active=True) == [two]
        assert reader.summaries(active=False) == [one]
        assert reader.summaries(repo="/nowhere") == []
        assert reader.counts() == {("ended", "verified"): 1, ("working", ""): 1}
        assert reader.counts(repo="/nowhere") == {}
    with pytest.raises(Bug, match="was given for"):
        add(journal, "two", 1, summary=SummaryRow("one", "/repo", "working"))


def test_summary_can_be_rebuilt(tmp_path, journal):
    """A summary that was lost is written anew, but only for the row that is last."""
    new(journal, "one")
    add(journal, "one", 1)
    journal._db.execute("DELETE FROM summary")
    journal.put_summary(SummaryRow("one", "/repo", "paused", seq=2, updated=7))
    with pytest.raises(Busy):
        journal.put_summary(SummaryRow("one", "/repo", "new", seq=1))
    with read_journal(str(tmp_path)) as reader:
        assert reader.summaries() == [SummaryRow("one", "/repo", "paused", "", b"", 2, 7)]


def test_forgotten_loop_is_gone(tmp_path, journal):
    """After a drop nothing of the loop is left, other loops are whole, and the name is free."""
    new(journal, "one")
    new(journal, "two")
    journal.inbox_put("one", 1, "pause", b"{}")
    with pytest.raises(Busy):
        journal.forget("one", 5)
    journal.forget("one", 1)
    with read_journal(str(tmp_path)) as reader:
        assert (reader.names(), list(reader.rows("one")), reader.inbox("one")) == (["two"], [], [])
    new(journal, "one")


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
    with read_journal(str(tmp_path)) as reader:
        assert [(command.id, command.taken) for command in reader.inbox("fix-1")] == [(number, 2)]
        assert [row.seq for row in reader.rows("fix-1")] == [1, 2]


def test_inbox_of_unknown_loop(journal):
    """A command for a loop that does not exist is an error at once, not a letter nobody reads."""
    with pytest.raises(UserError) as caught:
        journal.inbox_put("nobody", 1, "pause", b"{}")
    assert caught.value.code == "E-LOOP-UNKNOWN"


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


def test_export_is_json_lines(tmp_path, journal):
    """An export has one line of JSON a row, also for a body that is none."""
    new(journal, "fix-1", body=b'{"a": [1, 2]}')
    add(journal, "fix-1", 1, b"\xff\x00")
    add(journal, "fix-1", 2, b'{"a":\n1}')
    with read_journal(str(tmp_path)) as reader:
        lines = list(export(reader, "fix-1"))
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    first, second, third = map(json.loads, lines)
    assert (first["body"], first["seq"], first["kind"]) == ({"a": [1, 2]}, 1, "created")
    assert second["body_base64"] == "/wA="
    assert "body" not in third


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
from ralph.shell.journal.writer import read_journal
read_journal("/nonexistent").summaries()
print(sorted({"rich", "jinja2", "asyncio", "psutil", "shutil", "tempfile", "hashlib"} & set(sys.modules)))
"""
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


LOOPS = st.sampled_from(["a", "b", "c"])
BODIES = st.binary(max_size=300) | st.binary(min_size=3000, max_size=9000)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(LOOPS, BODIES, st.text(max_size=20), st.integers(0, 2**53), st.booleans()), max_size=30
    )
)
def test_any_interleaving_reads_back(tmp_path_factory, steps):
    """Whatever is appended to whatever loops in whatever order comes back, also after reopening."""
    directory = str(tmp_path_factory.mktemp("journal"))
    model: dict[str, list[JournalRow]] = {}
    journal = open_journal(directory)
    for loop, body, kind, at, reopen in steps:
        summary = SummaryRow(loop, "/repo", "working")
        if loop not in model:
            row = journal.create(loop, at=at, kind=kind, v=1, body=body, summary=summary)
            model[loop] = [row]
        else:
            model[loop].append(journal.append(loop, len(model[loop]), at=at, kind=kind, v=2, body=body))
        if reopen:
            journal.close()
            journal = open_journal(directory)
    with journal, read_journal(directory) as reader:
        assert reader.names() == sorted(model)
        for loop, rows in model.items():
            assert list(reader.rows(loop)) == rows
            assert [row.body for row in rows] == [step[1] for step in steps if step[0] == loop]


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
        "summary": ["loop", "seq", "repo", "phase", "outcome", "updated", "body"],
        "inbox": ["id", "loop", "at", "kind", "body", "taken"],
    }
