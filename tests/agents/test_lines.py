"""Output in chunks of any size reaches the parser whole, in order and in bounded memory."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.agents import CallFacts, Raw, Said
from ralph.agents._kit.lines import Intake, Tail
from ralph.core.model.spend import Usage


class Recorder:
    """A parser that keeps everything it is given."""

    def __init__(self):
        self.pieces = []
        self.lines = []

    def feed(self, line):
        self.lines.append(line)
        self.pieces.append(line + b"\n")
        return (Raw(line.decode("latin-1")),)

    def text(self, block):
        self.pieces.append(block)
        return (Said(block.decode("latin-1")),)

    def finish(self, exit_code, ended, dropped):
        return CallFacts(Usage(), None, None, (), b"".join(self.pieces).decode("latin-1"))


def take(chunks, longest=64):
    recorder = Recorder()
    intake = Intake(recorder, longest)
    facts = [fact for chunk in chunks for fact in intake.feed(chunk)]
    intake.finish(0, "exited")
    return recorder, facts


LINE = st.one_of(
    st.sampled_from([b"", b"plain", b"{}", b'{"a":1}', b" {indented}", b"a{b", b"{" * 70, b"x" * 70]),
    st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"")),
)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(LINE, max_size=20), st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_chunking_changes_nothing(lines, sizes):
    """However the pipe cuts the output, the same records are found and every byte arrives once."""
    data = b"".join(line + b"\n" for line in lines)
    chunks, start, turn = [], 0, 0
    while start < len(data):
        size = sizes[turn % len(sizes)]
        chunks.append(data[start : start + size])
        start, turn = start + size, turn + 1
    recorder, _ = take(chunks)
    assert b"".join(recorder.pieces) == data
    assert recorder.lines == [line for line in lines if line.startswith(b"{") and len(line) <= 64]


def test_plain_text_is_passed_on_whole():
    """A chunk of plain text is handed over as one block, not line by line."""
    recorder, facts = take([b"one\ntwo {\nthree\n"])
    assert recorder.pieces == [b"one\ntwo {\nthree\n"]
    assert len(facts) == 1


def test_records_between_text():
    """Records are found between plain lines, in order, also without a last line end."""
    recorder, facts = take([b'hello\n{"a":1}\n{"b":2}\nbye\n{"c"', b":3}"])
    assert recorder.lines == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    assert [type(fact).__name__ for fact in facts] == ["Said", "Raw", "Raw", "Said"]


def test_an_endless_line_is_not_held():
    """A line longer than any record flows through as text; the next record is found again."""
    recorder, _ = take([b"{" + b"x" * 100, b"y" * 100, b"z\n{1}\n"])
    assert recorder.lines == [b"{1}"]
    assert b"".join(recorder.pieces) == b"{" + b"x" * 100 + b"y" * 100 + b"z\n{1}\n"


def test_a_brace_in_mid_line_is_no_record():
    """A chunk that begins with a brace in the middle of a plain line is not taken for a record."""
    recorder, _ = take([b"text ", b"{not a record}\n", b"{record}\n"])
    assert recorder.lines == [b"{record}"]


@settings(deadline=None)
@given(st.lists(st.binary(max_size=30), max_size=30), st.integers(1, 40))
def test_tail_is_the_end(blocks, size):
    """The tail is exactly the last bytes of all that was added."""
    tail = Tail(size)
    for block in blocks:
        tail.add(block)
    assert tail.bytes() == b"".join(blocks)[-size:]
