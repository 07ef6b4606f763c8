"""Readers: with a writer alive, with nothing alive, and for users who cannot write there."""

import os
import shutil
import signal
import tempfile

import pytest
from journal_kit import add, child, fill, finish, new, open_to_all, seqs

from ralph.errors import SetupError
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.rows import FILE

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="NOT PROVEN HERE: only root can become another user"
)

READ = """
become_plain()
try:
    with read_journal(directory) as reader:
        print([row.seq for row in reader.rows("one")], len(reader.summaries()), sum(reader.counts().values()))
except RalphError as exc:
    print(exc.code)
"""


def test_no_journal_yet(tmp_path):
    """Without a journal, or even a directory, there are simply no loops; one made later is seen."""
    with read_journal(str(tmp_path / "nowhere")) as reader:
        assert (reader.names(), reader.summaries(), reader.counts()) == ([], [], {})
        assert list(reader.rows("one")) == []
        (tmp_path / "nowhere").mkdir()
        assert (reader.names(), reader.driver("one")) == ([], None)
        assert os.listdir(tmp_path / "nowhere") == []
        fill(tmp_path / "nowhere", "one", 2)
        assert [row.seq for row in reader.rows("one")] == [1, 2]


def test_reader_follows_a_living_writer(tmp_path):
    """A reader sees each row as soon as it is appended, and never stops the writer."""
    with open_journal(str(tmp_path)) as journal, read_journal(str(tmp_path)) as reader:
        new(journal, "one")
        rows = reader.rows("one")
        assert next(rows).seq == 1
        for seq in range(1, 5):
            add(journal, "one", seq)
            assert [row.seq for row in reader.rows("one", after=seq)] == [seq + 1]


def test_reader_after_kill(tmp_path):
    """After kill -9 of the writer, with its -wal and -shm left behind, every row is there."""
    code = """
journal = open_journal(directory)
create(journal, "one")
journal.append("one", 1, at=1, kind="fact", v=1, body=b"{}")
os.kill(os.getpid(), signal.SIGKILL)
"""
    process = child(code, tmp_path)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert (tmp_path / f"{FILE}-wal").exists()
    assert seqs(tmp_path, "one") == [1, 2]


@needs_root
@pytest.mark.parametrize("left", ["clean", "wal only", "wal and shm"])
def test_plain_user_reads_what_it_cannot_write(left):
    """Another user who may only read sees every row, whether the -wal and -shm are there or not."""
    with open_to_all() as directory, open_journal(directory) as journal:
        new(journal, "one")
        if left == "clean":
            journal.close()
        else:
            add(journal, "one", 1)
            with tempfile.TemporaryDirectory() as aside:
                for name in os.listdir(directory):
                    shutil.copy(f"{directory}/{name}", aside)
                journal.close()
                for name in os.listdir(aside):
                    if left == "wal and shm" or not name.endswith("-shm"):
                        shutil.copy(f"{aside}/{name}", directory)
        for name in os.listdir(directory):
            os.chmod(f"{directory}/{name}", 0o644)
        before = {name: os.stat(f"{directory}/{name}").st_mtime_ns for name in os.listdir(directory)}
        wanted = "[1] 1 1" if left == "clean" else "[1, 2] 1 1"
        assert finish(child(READ, directory)) == wanted
        assert before == {name: os.stat(f"{directory}/{name}").st_mtime_ns for name in os.listdir(directory)}


@needs_root
def test_plain_user_reads_beside_a_living_writer():
    """Another user who may only read sees the rows of a runner that is just writing."""
    with open_to_all() as directory, open_journal(directory) as journal:
        new(journal, "one")
        add(journal, "one", 1)
        for name in os.listdir(directory):
            os.chmod(f"{directory}/{name}", 0o644)
        assert finish(child(READ, directory)) == "[1, 2] 1 1"
        add(journal, "one", 2)


@needs_root
def test_copy_is_renewed_when_the_journal_changes():
    """A reader that works on a copy sees what is appended later, and leaves no copy behind."""
    code = """
os.environ["TMPDIR"] = sys.argv[2]
become_plain()
with read_journal(directory) as reader:
    print([row.seq for row in reader.rows("one")], flush=True)
    sys.stdin.readline()
    print([row.seq for row in reader.rows("one")], os.listdir(sys.argv[2]))
"""
    with open_to_all() as directory, open_to_all(0o777) as copies:
        fill(directory, "one", 2)
        os.chmod(f"{directory}/{FILE}", 0o644)
        process = child(code, directory, copies, stdin=-1)
        assert process.stdout.readline() == "[1, 2]\n"
        with open_journal(directory) as journal:
            add(journal, "one", 2)
        process.stdin.write("\n")
        process.stdin.flush()
        assert finish(process) == "[1, 2, 3] []"


@needs_root
def test_plain_user_without_permission():
    """Files that may not be read are a clear error, never an empty list."""
    with open_to_all() as directory:
        fill(directory, "one", 2)
        assert finish(child(READ, directory)) == "E-STATE-UNREADABLE"
        os.chmod(directory, 0o700)
        assert finish(child(READ, directory)) == "E-STATE-UNREADABLE"


@pytest.mark.plain
def test_own_directory_without_write_permission(tmp_path):
    """A user whose state directory is read-only still sees every loop."""
    fill(tmp_path, "one", 2)
    os.chmod(tmp_path, 0o500)
    try:
        assert seqs(tmp_path, "one") == [1, 2]
        with pytest.raises(SetupError):
            open_journal(str(tmp_path))
    finally:
        os.chmod(tmp_path, 0o700)


@pytest.mark.parametrize("name", ["with space", "per%cent", "what?", "ha#sh", "ümläut", "quo'te"])
def test_strange_directory_names(tmp_path, name):
    """The journal works in a directory of any name."""
    (tmp_path / name).mkdir()
    fill(tmp_path / name, "one", 2)
    assert seqs(tmp_path / name, "one") == [1, 2]
