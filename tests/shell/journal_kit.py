"""Shared by the tests of the journal: short ways to write rows, and real child processes."""

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager

from ralph.errors import JournalError
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.rows import unusable_error
from ralph.shell.journal.store import JournalStore, SummaryRow

# What a child may need is imported first: after giving up root it may not be able to read its own Python.
PRELUDE = """
import os, sys, time, shutil, tempfile, signal, hashlib, random, sqlite3
from ralph.errors import RalphError
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.reader import SqliteReader
from ralph.shell.journal.rows import FILE
from ralph.shell.journal.store import SummaryRow
from ralph.shell.journal.writer import open_sqlite
from ralph.shell.state import locks
from ralph.shell.journal import migrations
from ralph.shell.state import directory as statedir
directory = sys.argv[1]
def become_plain():
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
def create(journal, name):
    journal.create(name, at=1, kind="c", v=1, body=b"{}", summary=SummaryRow(name, "/r", "new"))
"""


def new(journal: JournalStore, loop: str, *, repo="/repo", phase="working", body=b"{}"):
    return journal.create(
        loop, at=1000, kind="created", v=1, body=body, summary=SummaryRow(loop, repo, phase)
    )


def add(journal: JournalStore, loop: str, expected: int, body=b"{}", **more):
    return journal.append(loop, expected, at=1000 + expected, kind="fact", v=1, body=body, **more)


def fill(directory, loop: str, rows: int, *, summaries=True):
    """A loop of that many rows, in a journal that is closed again."""
    with open_journal(str(directory)) as journal:
        new(journal, loop, body=b'{"row":1,"of":"%s"}' % loop.encode())
        for seq in range(1, rows):
            summary = SummaryRow(loop, "/repo", "working") if summaries else None
            add(journal, loop, seq, b'{"row":%d,"of":"%s"}' % (seq + 1, loop.encode()), summary=summary)


def seqs(directory, loop: str) -> list[int]:
    with read_journal(str(directory)) as reader:
        return [row.seq for row in reader.rows(loop)]


def errors_in(directory) -> list[JournalError]:
    """Everything that is wrong with a journal; reads all of it."""
    found, names = [], []
    with read_journal(str(directory)) as reader:
        try:
            names = reader.names()
            for (line,) in reader._ask(lambda db: db.execute("PRAGMA quick_check").fetchall(), []):
                found += [] if line == "ok" else [unusable_error(str(directory), line)]
        except JournalError as exc:
            found.append(exc)
        for loop in names:
            try:
                list(reader.rows(loop))
            except JournalError as exc:
                found.append(exc)
    return found


def child(code: str, directory, *args: object, **options) -> subprocess.Popen:
    argv = [sys.executable, "-c", PRELUDE + code, str(directory), *map(str, args)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, **options)


def finish(process: subprocess.Popen) -> str:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, (process.returncode, out)
    return out.strip()


@contextmanager
def open_to_all(mode: int = 0o755):
    """A directory that other users can reach; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, mode)
        yield directory
