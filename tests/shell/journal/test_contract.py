"""What every journal store promises, whichever it is: one suite over SQLite and memory."""

import os
import shutil
import tempfile
import threading
from contextlib import ExitStack

import pytest
from effort import examples
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from journal_kit import add, new
from memory_journal import Memory, MemoryJournal

from ralph.errors import Bug, Busy, RalphError, UserError
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.store import BODY_LIMIT, SummaryRow, backlog_stream


class SqlitePlace:
    def __init__(self, folder):
        self._folder = str(folder)

    def open(self):
        return open_journal(self._folder)


class MemoryPlace:
    def __init__(self, _folder):
        self._memory = Memory()

    def open(self):
        return MemoryJournal(self._memory)


PLACES = {"sqlite": SqlitePlace, "memory": MemoryPlace}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    return PLACES[request.param](tmp_path)


@pytest.fixture
def journal(place):
    with place.open() as opened:
        yield opened


def together(count, work):
    """`work(number)` in that many threads, as close to one instant as threads come; what each returned."""
    start, found, errors = threading.Barrier(count), {}, []

    def one(number):
        try:
            start.wait()
            found[number] = work(number)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    return [found[number] for number in range(count)]


def test_rows_come_back_in_order_and_bit_for_bit(place, journal):
    """What one handle appended another reads, whole and after any row; so does one opened later."""
    with place.open() as other:
        first = new(journal, "fix-1", body=b'{"a":1}')
        second = add(journal, "fix-1", 1, b"\x00\xff not even JSON")
        third = add(other, "fix-1", 2)
        for handle in (journal, other):
            assert list(handle.rows("fix-1")) == [first, second, third]
            assert list(handle.rows("fix-1", after=1)) == [second, third]
            assert list(handle.rows("fix-1", after=3)) == []
            assert list(handle.rows("other")) == []
    assert (first.seq, second.seq, second.kind, second.at) == (1, 2, "fact", 1001)
    with place.open() as later:
        assert list(later.rows("fix-1", after=2)) == [third]
        assert later.names() == ["fix-1"]


def test_rows_are_chained_alike_in_every_store(journal):
    """The hash of a row says the same everywhere, so that a record can be carried from store to store."""
    new(journal, "fix-1", body=b'{"a":1}')
    add(journal, "fix-1", 1, b'{"x":1}')
    assert [row.hash[:12] for row in journal.rows("fix-1")] == ["49b99d6340db", "410669bc80de"]


def test_a_row_that_was_seen_and_is_gone_is_damage(journal):
    """Who asks for what follows a row that is not there is told so, and not that nothing is new."""
    new(journal, "fix-1")
    with pytest.raises(RalphError) as caught:
        list(journal.rows("fix-1", after=7))
    assert caught.value.code == "E-JOURNAL-DAMAGED"


def test_who_lost_its_place_is_refused_and_changes_nothing(place, journal):
    """Of two writers the slower is told by an error of its own; no row, summary or taken command is left."""
    new(journal, "fix-1")
    number = journal.inbox_put("fix-1", 1, "pause", b"{}")
    with place.open() as other:
        add(other, "fix-1", 1)
    with pytest.raises(Busy, match="last row is 2, expected 1") as caught:
        add(journal, "fix-1", 1, summary=SummaryRow("fix-1", "/repo", "ended"), taken=(number,))
    assert (caught.value.code, caught.value.exit_code) == ("E-JOURNAL-FENCED", 5)
    assert [row.seq for row in journal.rows("fix-1")] == [1, 2]
    assert [row.phase for row in journal.summaries()] == ["working"]
    assert [command.id for command in journal.inbox_open("fix-1")] == [number]


def test_what_was_never_created_takes_nothing(journal):
    """Neither a row nor a command goes to a loop that is not there."""
    with pytest.raises(Busy, match="last row is 0, expected 1"):
        add(journal, "fix-1", 1)
    with pytest.raises(Bug):
        add(journal, "fix-1", 0)
    with pytest.raises(UserError) as caught:
        journal.inbox_put("fix-1", 1, "pause", b"{}")
    assert caught.value.code == "E-LOOP-UNKNOWN"
    assert (journal.names(), journal.summaries(), journal.counts()) == ([], [], {})


def test_a_loop_is_created_once_under_a_safe_name(journal):
    """A second loop of a name is refused with what to do instead; a name that leaves its folder always."""
    new(journal, "fix-1")
    with pytest.raises(UserError) as caught:
        new(journal, "fix-1")
    assert (caught.value.code, caught.value.next) == ("E-LOOP-EXISTS", "ralph status fix-1")
    with pytest.raises(UserError, match="not allowed"):
        new(journal, "../etc")
    assert journal.names() == ["fix-1"]


def test_large_body_is_our_bug(journal):
    """A body at the limit fits; one byte more, or the summary of another loop, writes nothing."""
    new(journal, "fix-1")
    add(journal, "fix-1", 1, b"x" * BODY_LIMIT)
    with pytest.raises(Bug, match="at most 65536"):
        add(journal, "fix-1", 2, b"x" * (BODY_LIMIT + 1))
    with pytest.raises(Bug, match="at most 65536"):
        add(journal, "fix-1", 2, summary=SummaryRow("fix-1", "/repo", "ended", body=b"x" * (BODY_LIMIT + 1)))
    with pytest.raises(Bug):
        journal.inbox_put("fix-1", 1, "steer", b"x" * (BODY_LIMIT + 1))
    with pytest.raises(Bug, match="was given for"):
        add(journal, "fix-1", 2, summary=SummaryRow("one", "/repo", "working"))
    assert [row.seq for row in journal.rows("fix-1")] == [1, 2]
    assert (journal.summaries()[0].seq, journal.inbox_open("fix-1")) == (1, [])


def test_racing_writers_lose_nothing_and_double_nothing(place):
    """Six writers append to one loop at once and look again when refused: every fact is there once."""
    with place.open() as journal:
        new(journal, "one")

    def write(number):
        refusals = set()
        with place.open() as mine:
            for fact in range(5):
                while True:
                    last = max(row.seq for row in mine.rows("one"))
                    try:
                        add(mine, "one", last, b"%d.%d" % (number, fact))
                        break
                    except Busy as busy:
                        refusals.add(busy.code)
        return refusals

    assert set().union(*together(6, write)) <= {"E-JOURNAL-FENCED"}
    with place.open() as journal:
        rows = list(journal.rows("one"))
    assert [row.seq for row in rows] == list(range(1, 32))
    facts = [b"%d.%d" % (number, fact) for number in range(6) for fact in range(5)]
    assert sorted(row.body for row in rows[1:]) == sorted(facts)


def test_a_command_is_taken_once(place, journal):
    """Commands come oldest first to whoever drives, and go with the row that answers them, once."""
    new(journal, "fix-1")
    new(journal, "other")
    with place.open() as teller:
        one = teller.inbox_put("fix-1", 9, "steer", b'{"text":"use tabs"}')
        two = teller.inbox_put("fix-1", 9, "pause", b"{}")
        foreign = teller.inbox_put("other", 9, "pause", b"{}")
    opened = journal.inbox_open("fix-1")
    assert [(command.id, command.kind, command.body) for command in opened] == [
        (one, "steer", b'{"text":"use tabs"}'),
        (two, "pause", b"{}"),
    ]
    add(journal, "fix-1", 1, taken=(one,))
    for wrong in ((one,), (foreign,), (two, two), (two, 99)):
        with pytest.raises(Bug, match="taken before or never given"):
            add(journal, "fix-1", 2, taken=wrong)
    assert [command.id for command in journal.inbox_open("fix-1")] == [two]
    add(journal, "fix-1", 2, taken=(two,))
    assert (journal.inbox_open("fix-1"), len(journal.inbox_open("other"))) == ([], 1)
    assert [row.seq for row in journal.rows("fix-1")] == [1, 2, 3]


def test_commands_from_many_while_a_runner_takes_them(place):
    """Whoever tells a loop something while it is driven is heard exactly once."""
    with place.open() as journal:
        new(journal, "one")
    told = 4 * 6

    def work(number):
        with place.open() as mine:
            if number:
                return [mine.inbox_put("one", 1, "steer", b"{}") for _ in range(6)]
            seq, heard = 1, []
            while len(heard) < told:
                taken = tuple(command.id for command in mine.inbox_open("one"))
                if taken:
                    seq = add(mine, "one", seq, taken=taken).seq
                    heard += taken
            return heard

    heard, *puts = together(5, work)
    assert sorted(heard) == sorted(number for put in puts for number in put)
    assert len(set(heard)) == told


def test_summary_goes_with_its_row(place, journal):
    """A summary is that of the row it came with; lists are newest first, by repository and by phase."""
    new(journal, "one")
    new(journal, "two", repo="/second")
    new(journal, "three")
    add(journal, "one", 1, summary=SummaryRow("one", "/repo", "ended", "verified", b"{}", seq=9, updated=9))
    add(journal, "three", 1)
    with place.open() as other:
        one, three, two = other.summaries()
        assert one == SummaryRow("one", "/repo", "ended", "verified", b"{}", 2, 1001, 1)
        assert [(row.loop, row.seq) for row in (two, three)] == [("two", 1), ("three", 1)]
        assert other.summaries(limit=1) == [one]
        assert other.summaries(active=True) == [three, two]
        assert other.summaries(active=False) == [one]
        assert other.summaries("/repo", active=True) == [three]
        assert other.summaries("/nowhere") == []
        assert other.counts() == {("ended", "verified"): 1, ("working", ""): 2}
        assert other.counts("/second") == {("working", ""): 1}
        assert other.counts("/nowhere") == {}


def refusal(work):
    with pytest.raises(Busy) as caught:
        work()
    return caught.value.code


def test_admission_is_of_one_repository(place, journal):
    """Two may work, a third is refused with whom to pause; another repository has places of its own."""
    one, two = (journal.admit(name, at=5, repo="/repo", most=2) for name in ("one", "two"))
    with place.open() as other:
        with pytest.raises(Busy) as full:
            other.admit("three", at=5, repo="/repo", most=2)
        assert (full.value.code, full.value.exit_code) == ("E-LOOPS-MANY", 5)
        assert full.value.next == "ralph pause one"
        elsewhere = other.admit("three", at=5, repo="/other", most=2)
        elsewhere.release()
        one.release()
        three = other.admit("three", at=5, repo="/repo", most=2)
        assert refusal(lambda: journal.admit("one", at=5, repo="/repo", most=2)) == "E-LOOPS-MANY"
    for stint in (two, three):
        stint.release()
    journal.admit("one", at=5, repo="/repo", most=1).release()


def test_admission_is_also_of_the_whole_machine(place, journal):
    """Whatever the repositories allow: when the machine has no place left, the next one is refused."""
    stints = [
        journal.admit(name, at=5, repo=f"/{name}", most=4, machine=3) for name in ("one", "two", "three")
    ]
    with place.open() as other:
        with pytest.raises(Busy, match="on this machine") as full:
            other.admit("four", at=5, repo="/four", most=4, machine=3)
        assert (full.value.code, full.value.exit_code) == ("E-LOOPS-MANY", 5)
        assert "max_loops_machine" in full.value.why
        other.admit("four", at=5).release()  # who only ends a loop needs no place
        stints.pop().release()
        stints.append(other.admit("four", at=5, repo="/four", most=4, machine=3))
    for stint in stints:
        stint.release()


def test_a_loop_has_one_driver_whom_everybody_sees(place, journal):
    """Who is admitted is the only one, with or without a place, and seen from any handle until released."""
    assert journal.driver("one") is None
    with place.open() as giver:
        held = giver.admit("one", at=5)
    holder = journal.driver("one")
    assert holder is not None
    assert (holder.since, holder.what) == (5, "runner")
    assert refusal(lambda: journal.admit("one", at=6)) == "E-LOOP-LOCKED"
    assert refusal(lambda: journal.admit("one", at=6, repo="/repo", most=1)) == "E-LOOP-LOCKED"
    journal.admit("two", at=6, repo="/repo", most=1).release()  # who was refused has left no place taken
    assert journal.driver("two") is None
    held.release()
    assert journal.driver("one") is None
    again = journal.admit("one", at=7, repo="/repo", most=1)  # a loop is not counted against itself
    assert refusal(lambda: journal.admit("one", at=8, repo="/repo", most=1)) == "E-LOOP-LOCKED"
    again.release()


def test_the_cap_is_exact_when_many_ask_at_once(place):
    """Of eight that ask in one instant for two places, two get in; what they give back is free at once."""

    def ask(number):
        with place.open() as mine:
            try:
                return mine.admit(f"loop-{number}", at=5, repo="/repo", most=2)
            except Busy as busy:
                return busy.code

    for _ in range(3):
        answers = together(8, ask)
        stints = [answer for answer in answers if not isinstance(answer, str)]
        assert len(stints) == 2
        assert answers.count("E-LOOPS-MANY") == 6
        for stint in stints:
            stint.release()


LOOPS = st.sampled_from(["a", "b", "c"])
REPOS = st.sampled_from(["/one", "/two"])
PHASES = st.sampled_from(["working", "ended"])


class SameStores(RuleBasedStateMachine):
    """Whatever is done in whatever order, both stores answer alike, errors included."""

    def __init__(self):
        super().__init__()
        self._folder = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self._places = [SqlitePlace(self._folder), MemoryPlace("")]
        self._handles = [place.open() for place in self._places]
        self._stints = []
        self._commands = 0

    def both(self, act):
        answers = []
        for handle in self._handles:
            try:
                answers.append(act(handle))
            except RalphError as exc:
                answers.append((type(exc), exc.code, exc.what))
        return answers

    def same(self, act):
        sqlite, memory = self.both(act)
        assert sqlite == memory
        return sqlite

    @rule(loop=LOOPS, repo=REPOS, body=st.binary(max_size=50), at=st.integers(0, 9))
    def create(self, loop, repo, body, at):
        line = SummaryRow(loop, repo, "working", body=body)
        self.same(lambda handle: handle.create(loop, at=at, kind="c", v=1, body=body, summary=line))

    @rule(
        loop=LOOPS,
        off=st.sampled_from([0, 0, 0, -1, 1]),
        body=st.binary(max_size=50),
        at=st.integers(0, 9),
        summary=st.none() | st.tuples(REPOS, PHASES),
        take=st.sets(st.integers(1, 6), max_size=2),
    )
    def append(self, loop, off, body, at, summary, take):
        line = summary and SummaryRow(loop, summary[0], summary[1], "verified", body)
        expected = max(0, len(list(self._handles[1].rows(loop))) + off)
        self.same(
            lambda handle: handle.append(
                loop, expected, at=at, kind="f", v=2, body=body, summary=line, taken=tuple(sorted(take))
            )
        )

    @rule(loop=LOOPS, at=st.integers(0, 9))
    def tell(self, loop, at):
        self.same(lambda handle: handle.inbox_put(loop, at, "steer", b"{}"))

    @rule(loop=LOOPS, repo=REPOS, most=st.none() | st.integers(1, 2))
    def admit(self, loop, repo, most):
        answers = self.both(lambda handle: handle.admit(loop, at=1, repo=repo, most=most))
        refused = [isinstance(answer, tuple) and answer[1] for answer in answers]
        assert refused[0] == refused[1]
        if not refused[0]:
            self._stints.append(answers)

    @precondition(lambda self: self._stints)
    @rule(at=st.integers(0, 5))
    def release(self, at):
        for stint in self._stints.pop(at % len(self._stints)):
            stint.release()

    @rule()
    def reopen(self):
        for handle in self._handles:
            handle.close()
        self._handles = [place.open() for place in self._places]

    @rule(loop=LOOPS, after=st.integers(0, 5))
    def read(self, loop, after):
        self.same(lambda handle: list(handle.rows(loop, after)))

    @invariant()
    def lists_are_the_same(self):
        self.same(lambda handle: (handle.names(), handle.summaries(), handle.counts()))
        self.same(lambda handle: handle.summaries("/one", 1, active=True))
        for loop in ("a", "b", "c"):
            self.same(lambda handle, loop=loop: handle.inbox_open(loop))
            self.same(lambda handle, loop=loop: handle.driver(loop) is None)

    def teardown(self):
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, self._folder)
            for handle in self._handles:
                stack.callback(handle.close)
            for answers in self._stints:
                for stint in answers:
                    stack.callback(stint.release)


SameStores.TestCase.settings = settings(
    max_examples=examples(25), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
test_both_stores_answer_alike = SameStores.TestCase


def test_a_backlog_has_a_stream_of_its_own(place, journal):
    """Rows of a repository's backlog are chained and fenced like a loop's, and no list shows them as one."""
    key = backlog_stream("/some/where")
    assert journal.newest(key) is None
    assert list(journal.rows(key)) == []
    new(journal, "fix-1")
    for number in range(3):
        row = journal.append(key, number, at=number, kind="Backlog", v=1, body=b"{}")
    assert journal.newest(key) == row
    assert [one.seq for one in journal.rows(key)] == [1, 2, 3]
    with place.open() as other, pytest.raises(Busy):
        other.append(key, 2, at=9, kind="Backlog", v=1, body=b"{}")
    journal.append("session:ab", 0, at=1, kind="x", v=1, body=b"")
    assert journal.streams("session:") == ["session:ab"]
    assert journal.streams("backlog:") == [key]
    assert journal.names() == ["fix-1"]
    assert [one.loop for one in journal.summaries()] == ["fix-1"]
    with pytest.raises(Bug):
        journal.append("fix-2", 0, at=1, kind="x", v=1, body=b"")
