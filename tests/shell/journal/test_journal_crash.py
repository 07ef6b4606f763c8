"""The bad day: kill -9, a full disk, failing syscalls, many processes at once."""

import collections
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from effort import examples, part_of
from journal_kit import PRELUDE, add, child, errors_in, finish, new, seqs

from ralph.errors import SetupError
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.rows import FILE
from ralph.shell.state.directory import make_reserve, release_reserve

# Appends for ever, telling of each row after it was acknowledged.
WRITER = """
journal = open_journal(directory)
try:
    create(journal, "one")
except RalphError as exc:
    assert exc.code == "E-LOOP-EXISTS"
seq = [row.seq for row in journal.rows("one")][-1]
os.write(1, b"%d\\n" % seq)
while True:
    summary = SummaryRow("one", "/r", "working", body=b"s" * 100)
    body = b"b" * (seq * 37 % 9000)
    seq = journal.append("one", seq, at=1, kind="fact", v=1, body=body, summary=summary).seq
    os.write(1, b"%d\\n" % seq)
"""


def kill_writers(directory, times: int, longest: float) -> int:
    """Kill that many writers at random moments, checking after each; the number of rows at the end."""
    acknowledged = 0
    for _ in range(times):
        process = child(WRITER, directory)
        acknowledged = int(process.stdout.readline())
        time.sleep(random.uniform(0, longest))
        process.kill()
        lines = process.communicate()[0].split("\n")[:-1]
        acknowledged = int(lines[-1]) if lines else acknowledged
        found = seqs(directory, "one")
        assert found == list(range(1, len(found) + 1))
        assert len(found) in (acknowledged, acknowledged + 1)
        with read_journal(str(directory)) as reader:
            assert reader.summaries()[0].seq == len(found)
    assert errors_in(directory) == []
    return acknowledged


def test_kill_loses_nothing(tmp_path):
    """After kill -9 of a writer every acknowledged row is there, and at most the one in flight beyond."""
    kill_writers(tmp_path, 2, 0.02)


@pytest.mark.slow
def test_many_kills_lose_nothing(tmp_path):
    """Kills at random moments: the chain is whole after each, and nothing acknowledged is lost."""
    times = examples(12)
    assert kill_writers(tmp_path, times, 0.1) > 0


FEW = """
try:
    with open_journal(directory) as journal:
        create(journal, "one")
        os.write(1, b"1\\n")
        for seq in range(1, 3):
            journal.append("one", seq, at=1, kind="f", v=1, body=b"x" * 5000)
            os.write(1, b"%d\\n" % (seq + 1))
        os.write(1, b"end\\n")
except RalphError as exc:
    os.write(1, exc.code.encode() + b"\\n")
"""
CALLS = "pwrite64,fdatasync,fsync,ftruncate,unlink"


def strace(directory, *options: str) -> list[str]:
    argv = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-o",
        str(directory.parent / "trace"),
        "-e",
        f"trace={CALLS}",
        *options,
    ]
    argv += [sys.executable, "-c", PRELUDE + FEW, str(directory)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == "", done.stderr
    return done.stdout.split()


def can_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    done = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not can_trace(), reason="NOT PROVEN HERE: strace is missing or not permitted")
@pytest.mark.parametrize("fault", ["signal=KILL", "error=EIO", "error=ENOSPC"])
def test_every_write_point_may_fail(tmp_path, fault):
    """A kill, an error or a full disk at any write: acknowledged rows stay."""
    (tmp_path / "plain").mkdir()
    assert strace(tmp_path / "plain") == ["1", "2", "3", "end"]
    points = [line.split()[1].partition("(")[0] for line in (tmp_path / "trace").read_text().splitlines()]
    seen: dict[str, int] = {}
    codes = set()
    chosen = part_of(
        range(len(points)), 12 if fault == "signal=KILL" else 6
    )  # errors are handled in one place
    for number, call in enumerate(points):
        seen[call] = seen.get(call, 0) + 1
        if number not in chosen:
            continue
        directory = tmp_path / f"{call}-{seen[call]}"
        directory.mkdir()
        told = strace(directory, "-e", f"inject={call}:{fault}:when={seen[call]}")
        acknowledged = max([int(word) for word in told if word.isdigit()], default=0)
        codes |= {word for word in told if word.startswith("E-")}
        found = seqs(directory, "one")
        assert found == list(range(1, len(found) + 1)), directory
        assert acknowledged <= len(found) <= acknowledged + 1, (directory, told)
        with open_journal(str(directory)) as journal:  # and it works again afterwards
            if found:
                add(journal, "one", len(found))
            else:
                new(journal, "one")
    assert len(points) > 10
    wanted = {"signal=KILL": set(), "error=EIO": {"E-DISK-IO"}, "error=ENOSPC": {"E-DISK-FULL", "E-DISK-IO"}}
    assert codes <= wanted[fault]
    assert codes or fault == "signal=KILL"


def test_io_error_ends_the_use_of_a_journal(tmp_path):
    """After an I/O error the journal refuses everything; what was acknowledged is there after reopening."""
    code = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = open_journal(directory)
create(journal, "one")
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(directory + "/journal.db-wal").st_size + 100, hard))
for seq in (1, 1):
    try:
        journal.append("one", seq, at=1, kind="f", v=1, body=b"x" * 9000)
    except RalphError as exc:
        print(exc.code)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
try:
    journal.inbox_open("one")
except RalphError as exc:
    print(exc.code)
"""
    assert finish(child(code, tmp_path)).split() == ["E-DISK-IO"] * 3
    assert seqs(tmp_path, "one") == [1]
    with open_journal(str(tmp_path)) as journal:
        add(journal, "one", 1)


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("NOT PROVEN HERE: only root with mount permission can make a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_full_disk(small_disk: Path):
    """A full disk refuses the append and loses nothing; with the reserve given back the journal goes on."""
    assert make_reserve(str(small_disk), 300_000)
    with open_journal(str(small_disk)) as journal:
        new(journal, "one")
        numbers = itertools.count(1)
        with pytest.raises(SetupError) as caught:
            collections.deque(
                (add(journal, "one", next(numbers), b"x" * 9000) for _ in range(1000)), maxlen=0
            )
        seq = next(numbers) - 1
        assert (caught.value.code, caught.value.exit_code) == ("E-DISK-FULL", 4)
        for _ in range(3):
            with pytest.raises(SetupError, match="no space left"):
                add(journal, "one", seq, b"x" * 9000)
        assert [row.seq for row in journal.rows("one")] == list(range(1, seq + 1))
        assert release_reserve(str(small_disk))
        add(journal, "one", seq, b"x" * 9000)
        assert not make_reserve(str(small_disk), 300_000)
        assert not (small_disk / "reserve").exists()
    assert seqs(small_disk, "one") == list(range(1, seq + 2))


def test_opening_on_a_full_disk(small_disk: Path):
    """A journal that cannot be made for lack of space says so, and is made once there is some."""
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(b"x" * 4_000_000)
    with pytest.raises(SetupError) as caught:
        open_journal(str(small_disk))
    assert caught.value.code == "E-DISK-FULL"
    (small_disk / "ballast").unlink()
    with open_journal(str(small_disk)) as journal:
        new(journal, "one")


OPEN_AT_ONCE = """
while time.time() < float(sys.argv[2]): pass
with open_journal(directory) as journal:
    name = f"loop-{sys.argv[3]}"
    create(journal, name)
"""


def test_first_opening_by_several_at_once(tmp_path):
    """Processes that open a journal which does not exist yet, at the same instant, all get the same one."""
    start = time.time() + 0.25
    for process in [child(OPEN_AT_ONCE, tmp_path, start, number) for number in range(3)]:
        finish(process)
    with read_journal(str(tmp_path)) as reader:
        assert reader.names() == ["loop-0", "loop-1", "loop-2"]
    assert errors_in(tmp_path) == []


@pytest.mark.soak
def test_first_opening_many_times(tmp_path):
    """The same, five times over with five processes each."""
    for turn in range(5):
        (tmp_path / str(turn)).mkdir()
        start = time.time() + 0.3
        for process in [child(OPEN_AT_ONCE, tmp_path / str(turn), start, number) for number in range(5)]:
            finish(process)
        with read_journal(str(tmp_path / str(turn))) as reader:
            assert len(reader.names()) == 5


@pytest.mark.slow
def test_hundred_starts_of_one_loop(tmp_path):
    """Of a hundred parallel starts of one loop exactly one wins, the others hear that it exists."""
    code = """
import threading
barrier, told = threading.Barrier(10), []
def start():
    with open_journal(directory) as journal:
        barrier.wait()
        try:
            create(journal, "one")
            told.append("won")
        except RalphError as exc:
            told.append(exc.code)
threads = [threading.Thread(target=start) for _ in range(10)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(*told)
"""
    told = " ".join(finish(process) for process in [child(code, tmp_path) for _ in range(10)]).split()
    assert sorted(told) == ["E-LOOP-EXISTS"] * 99 + ["won"]
    assert seqs(tmp_path, "one") == [1]


@pytest.mark.slow
def test_two_writers_race_for_each_row(tmp_path):
    """Two runners that both drive a loop never both write a row, and the chain stays whole."""
    code = """
import random
won = 0
with open_journal(directory) as journal:
    for _ in range(200):
        seq = [row.seq for row in journal.rows("one", after=0)][-1] if won % 20 == 0 else seq
        try:
            seq = journal.append("one", seq, at=1, kind="f", v=1, body=b"{}").seq
            won += 1
        except RalphError as exc:
            assert exc.code == "E-JOURNAL-FENCED"
            seq = [row.seq for row in journal.rows("one", after=seq)][-1]
print(won)
"""
    with open_journal(str(tmp_path)) as journal:
        new(journal, "one")
    won = sum(int(finish(process)) for process in [child(code, tmp_path) for _ in range(2)])
    assert len(seqs(tmp_path, "one")) == won + 1


@pytest.mark.slow
def test_commands_arrive_while_the_runner_writes(tmp_path):
    """Commands put while a runner appends as fast as it can are all there, and the runner is not stopped."""
    writer = child(WRITER, tmp_path)
    writer.stdout.readline()
    code = """
with open_journal(directory) as journal:
    print(*[journal.inbox_put("one", 1, "steer", b"{}") for _ in range(100)])
"""
    numbers = finish(child(code, tmp_path)).split()
    rows = len(seqs(tmp_path, "one"))
    until = time.monotonic() + 30
    while len(seqs(tmp_path, "one")) == rows:
        assert time.monotonic() < until, "it was stopped"
    writer.kill()
    writer.communicate()
    assert writer.returncode == -signal.SIGKILL
    with open_journal(str(tmp_path)) as journal:
        assert [str(command.id) for command in journal.inbox_open("one")] == numbers
    assert os.path.exists(tmp_path / FILE)
