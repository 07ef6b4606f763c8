"""Damage: one loop's bad rows are refused by name, the others still work, and nothing is guessed."""

import sqlite3

import pytest
from effort import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from journal_kit import add, errors_in, fill, new, seqs
from memory_journal import Memory, MemoryJournal

from ralph.errors import JournalError, RalphError, SetupError
from ralph.shell.journal.migrations import MIGRATIONS
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.rows import FILE
from ralph.shell.journal.store import SummaryRow


def edit(directory, *statements: str) -> None:
    db = sqlite3.connect(directory / FILE)
    with db:
        for statement in statements:
            db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    ("statement", "seq"),
    [
        ("UPDATE event SET body = x'7b7d' WHERE loop = 'bad' AND seq = 3", 3),
        ("UPDATE event SET at = at + 1 WHERE loop = 'bad' AND seq = 1", 1),
        ("UPDATE event SET kind = 'verified' WHERE loop = 'bad' AND seq = 5", 5),
        ("UPDATE event SET v = 9 WHERE loop = 'bad' AND seq = 2", 2),
        ("UPDATE event SET hash = 'x' WHERE loop = 'bad' AND seq = 4", 4),
        ("UPDATE event SET body = 'text' WHERE loop = 'bad' AND seq = 2", 2),
        ("UPDATE event SET at = x'00' WHERE loop = 'bad' AND seq = 2", 2),
        ("UPDATE event SET kind = CAST(x'ff' AS TEXT) WHERE loop = 'bad' AND seq = 2", 2),
        ("DELETE FROM event WHERE loop = 'bad' AND seq = 3", 3),
        ("DELETE FROM event WHERE loop = 'bad' AND seq = 1", 1),
        ("DELETE FROM event WHERE loop = 'bad' AND seq >= 4", 4),
        ("DELETE FROM event WHERE loop = 'bad'", 1),
        ("UPDATE event SET seq = 6 WHERE loop = 'bad' AND seq = 5", 5),
    ],
)
def test_changed_rows_are_refused_for_that_loop_only(tmp_path, statement, seq):
    """A changed, missing or cut-off row is named; rows before it are given, other loops are whole."""
    fill(tmp_path, "bad", 5)
    fill(tmp_path, "good", 5)
    edit(tmp_path, statement)
    given_rows = []
    with read_journal(str(tmp_path)) as reader:
        with pytest.raises(JournalError, match=f"'bad' is damaged at row {seq}") as caught:
            given_rows.extend(row.seq for row in reader.rows("bad"))
        assert (caught.value.code, caught.value.exit_code) == ("E-JOURNAL-DAMAGED", 4)
        assert given_rows == list(range(1, seq))
        assert [row.seq for row in reader.rows("good")] == [1, 2, 3, 4, 5]
    assert [(exc.code, "bad" in exc.what) for exc in errors_in(tmp_path)] == [("E-JOURNAL-DAMAGED", True)]
    with open_journal(str(tmp_path)) as journal:
        add(journal, "good", 5)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE summary SET outcome = 'verified' WHERE loop = 'bad'",
        "UPDATE summary SET phase = 'ended' WHERE loop = 'bad'",
        "UPDATE summary SET body = x'7b7d' WHERE loop = 'bad'",
        "UPDATE summary SET body = 'text' WHERE loop = 'bad'",
        "UPDATE summary SET repo = '/other' WHERE loop = 'bad'",
        "UPDATE summary SET updated = updated + 1 WHERE loop = 'bad'",
        "UPDATE summary SET seq = seq - 1 WHERE loop = 'bad'",
        "UPDATE summary SET seq = 99 WHERE loop = 'bad'",
        "UPDATE summary SET hash = '' WHERE loop = 'bad'",
        "UPDATE summary SET hash = (SELECT hash FROM summary WHERE loop = 'good') WHERE loop = 'bad'",
        "DELETE FROM summary WHERE loop = 'bad'",
    ],
)
def test_a_summary_that_was_changed_alone_says_nothing(tmp_path, statement):
    """Lists show it without its body; the others are whole. Made from the record again, it is whole too."""
    whole = {name: SummaryRow(name, "/r", "working", body=b'{"is": "mine"}') for name in ("bad", "good")}
    with open_journal(str(tmp_path)) as journal:
        for name, summary in whole.items():
            journal.create(name, at=1, kind="c", v=1, body=b"{}", summary=summary)
            journal.append(name, 1, at=2, kind="c", v=1, body=b"{}", summary=summary)
    edit(tmp_path, statement)
    with read_journal(str(tmp_path)) as reader:
        assert reader.names() == ["bad", "good"]
        assert {row.loop: row.body for row in reader.summaries()} == {"bad": b"", "good": whole["good"].body}
    with open_journal(str(tmp_path)) as journal:
        journal.mend_summary(whole["bad"], 2)
        assert {row.loop: row.body for row in journal.summaries()} == {n: s.body for n, s in whole.items()}
        assert [row.seq for row in journal.rows("bad")] == [1, 2]


@pytest.mark.parametrize("opened", [lambda at: open_journal(str(at)), lambda _at: MemoryJournal(Memory())])
def test_a_summary_of_earlier_rows_is_not_sealed_to_a_later_one(tmp_path, opened):
    """Who mends has read the loop before: what its runner wrote meanwhile stays."""
    old, new = (SummaryRow("one", "/r", phase, body=b"{}") for phase in ("working", "ended"))
    with opened(tmp_path) as journal:
        journal.create("one", at=1, kind="c", v=1, body=b"{}", summary=old)
        journal.append("one", 1, at=2, kind="c", v=1, body=b"{}", summary=new)
        journal.mend_summary(old, 1)
        assert [row.phase for row in journal.summaries()] == ["ended"]
        journal.mend_summary(old, 2)
        assert [row.phase for row in journal.summaries()] == ["working"]


def test_rows_of_another_loop_do_not_fit(tmp_path):
    """A row copied from one loop into another is refused there."""
    fill(tmp_path, "bad", 2)
    fill(tmp_path, "good", 3)
    edit(
        tmp_path,
        "INSERT INTO event SELECT 'bad', seq, at, kind, v, hash, body FROM event"
        " WHERE loop = 'good' AND seq = 3",
    )
    with pytest.raises(JournalError, match="row 3"):
        seqs(tmp_path, "bad")


def test_reading_from_a_missing_row_on(tmp_path):
    """Going on after a row that is not there is damage, not an empty answer."""
    fill(tmp_path, "bad", 2)
    with read_journal(str(tmp_path)) as reader, pytest.raises(JournalError, match="row 7"):
        list(reader.rows("bad", after=7))


def test_flipped_bits_in_the_file(tmp_path):
    """A bit flipped inside a row on disk is noticed, and only in the loop it belongs to."""
    fill(tmp_path, "bad", 5)
    fill(tmp_path, "good", 5)
    path = tmp_path / FILE
    data = bytearray(path.read_bytes())
    at = data.rindex(b'{"row":3,"of":"bad"}')
    data[at + 7] ^= 1
    path.write_bytes(data)
    with pytest.raises(JournalError, match="'bad' is damaged at row 3"):
        seqs(tmp_path, "bad")
    assert seqs(tmp_path, "good") == [1, 2, 3, 4, 5]


def test_ruined_page_harms_only_its_loops(tmp_path):
    """A whole page of garbage makes the loops on it unreadable, and leaves those on other pages."""
    for name in ("aa", "mm", "zz"):
        with open_journal(str(tmp_path)) as journal:
            new(journal, name)
            for seq in range(1, 40):
                add(journal, name, seq, b"%s-%d " % (name.encode(), seq) * 150)
    path = tmp_path / FILE
    data = bytearray(path.read_bytes())
    page = data.index(b"mm-20 ") // 4096
    data[page * 4096 : page * 4096 + 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    with pytest.raises(JournalError, match="'mm' is damaged"):
        seqs(tmp_path, "mm")
    assert seqs(tmp_path, "aa") == seqs(tmp_path, "zz") == list(range(1, 41))
    assert {exc.code for exc in errors_in(tmp_path)} >= {"E-JOURNAL-DAMAGED"}


@pytest.mark.slow
@example(where=3935, bit=7)
@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 10**9), st.integers(0, 7))
def test_any_flipped_bit_is_harmless_or_refused(tmp_path_factory, where, bit):
    """Whichever bit of the database flips, rows are right or refused with an error of ours, never wrong."""
    directory = tmp_path_factory.mktemp("flip")
    fill(directory, "one", 4)
    fill(directory, "two", 4)
    path = directory / FILE
    data = bytearray(path.read_bytes())
    data[where % len(data)] ^= 1 << bit
    path.write_bytes(data)
    for loop in ("one", "two"):
        try:
            with read_journal(str(directory)) as reader:
                bodies = [row.body for row in reader.rows(loop)]
        except RalphError as exc:
            assert exc.code.startswith(("E-JOURNAL-", "E-STATE-"))  # noqa: PT017
        else:
            wanted = [b'{"row":%d,"of":"%s"}' % (seq, loop.encode()) for seq in range(1, 5)]
            assert bodies == wanted[: len(bodies)]
            assert len(bodies) in (0, 4)


def test_torn_end_of_the_wal_is_what_was_never_acknowledged(tmp_path):
    """Garbage after the last commit in the -wal is ignored: it is a write that never finished."""
    with open_journal(str(tmp_path)) as journal:
        new(journal, "one")
        add(journal, "one", 1)
        copy = tmp_path / "copy"
        copy.mkdir()
        for suffix in ("", "-wal"):
            (copy / f"{FILE}{suffix}").write_bytes((tmp_path / f"{FILE}{suffix}").read_bytes())
    with (copy / f"{FILE}-wal").open("ab") as wal:
        wal.write(b"\x5a" * 3000)
    assert seqs(copy, "one") == [1, 2]


@pytest.mark.parametrize(
    "content", [b"", b"not a database at all, just some text\n" * 300, b"SQLite format 3\0"]
)
def test_file_that_is_no_database(tmp_path, content):
    """Garbage in place of the journal is refused with a way out; an empty file is an empty journal."""
    (tmp_path / FILE).write_bytes(content)
    if not content:
        with read_journal(str(tmp_path)) as reader:
            assert reader.names() == []
        open_journal(str(tmp_path)).close()
        return
    for use in (open_journal, lambda path: read_journal(path).names()):
        with pytest.raises(JournalError) as caught:
            use(str(tmp_path))
        assert (caught.value.code, caught.value.exit_code) == ("E-JOURNAL-UNUSABLE", 4)
        assert "mv journal.db*" in caught.value.next


def test_database_of_another_program(tmp_path):
    """Some other SQLite file under our name is neither read nor changed."""
    edit(tmp_path, "CREATE TABLE cats (name TEXT)")
    before = (tmp_path / FILE).read_bytes()
    for use in (open_journal, lambda path: read_journal(path).names()):
        with pytest.raises(JournalError, match="not a journal of Ralph"):
            use(str(tmp_path))
    assert (tmp_path / FILE).read_bytes()[100:] == before[100:]


def test_newer_journal_is_refused(tmp_path):
    """A journal from a newer Ralph is refused by readers and writers, and says which versions."""
    fill(tmp_path, "one", 2)
    edit(tmp_path, "PRAGMA user_version = 7")
    for use in (open_journal, lambda path: read_journal(path).summaries()):
        with pytest.raises(
            JournalError, match=f"has version 7, this Ralph knows {len(MIGRATIONS)}"
        ) as caught:
            use(str(tmp_path))
        assert (caught.value.code, caught.value.exit_code) == ("E-JOURNAL-NEWER", 4)


def test_writer_stops_when_a_newer_ralph_migrates_under_it(tmp_path):
    """A writer that was open when a newer Ralph changed the tables writes nothing more."""
    with open_journal(str(tmp_path)) as journal, read_journal(str(tmp_path)) as reader:
        new(journal, "one")
        assert reader.names() == ["one"]
        edit(tmp_path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        with pytest.raises(JournalError) as caught:
            add(journal, "one", 1)
        assert caught.value.code == "E-JOURNAL-NEWER"
        with pytest.raises(JournalError, match=f"version {len(MIGRATIONS) + 1}"):
            reader.names()


@pytest.mark.parametrize("kind", ["link", "directory", "hard link"])
def test_journal_must_be_a_plain_file(tmp_path, kind):
    """A link or directory in place of the journal is not written through."""
    if kind == "directory":
        (tmp_path / FILE).mkdir()
    else:
        (tmp_path / "target").touch()
        if kind == "link":
            (tmp_path / FILE).symlink_to(tmp_path / "target")
        else:
            (tmp_path / FILE).hardlink_to(tmp_path / "target")
    with pytest.raises(SetupError) as caught:
        open_journal(str(tmp_path))
    assert caught.value.code == "E-JOURNAL-UNUSABLE"
