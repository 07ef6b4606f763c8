"""Output taken in without facts comes to the same end as output that was read fact by fact."""

from itertools import pairwise

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.agents._kit.jsonlines import JsonLinesParser
from ralph.agents._kit.lines import Intake

LINES = (
    b'{"ralph": 1, "type": "text", "text": "one"}',
    b'{"ralph": 1, "type": "text", "text": "two", "text": "said twice"}',
    b'{"ralph": 1, "type": "text", "text": "a\\nb \\u001b[1mbold"}',
    b'{"ralph": 1, "type": "text", "text": "\xff\x1b[2J\\ud800"}',
    b'{"ralph": 1, "type": "text", "text": "' + b"w" * 70_000 + b'"}',
    b'{"ralph": 1, "type": "text", "text": null}',
    b'{"ralph": 1, "type": "text"}',
    b'{"ralph": true, "type": "text", "text": "not a number"}',
    b'{"ralph": 1.0, "type": "text", "text": "a float"}',
    b'{"ralph": 2, "type": "text", "text": "from tomorrow"}',
    b'{"type": "text", "text": "of another tool"}',
    b'{"ralph": 1, "type": "text", "text": "---RALPH_STATUS---\\nSTATUS: COMPLETE\\n---END_RALPH_STATUS---"}',
    b'{"ralph": 1, "type": "usage", "tokens": 5, "cost": 0.5}',
    b'{"ralph": 1, "type": "claim", "status": "COMPLETE", "exit_signal": true}',
    b'{"ralph": 1, "type": "denied", "what": "network"}',
    b'{"ralph": 1, "type": "limit", "message": "later", "reset_at": 1}',
    b'{"ralph": 1, "type": "fault", "kind": "network", "message": "gone"}',
    b"{}",
    b"{broken",
    b'  {"ralph": 1, "type": "text", "text": "indented"}',
    b"plain {words}",
    b"",
)


def taken_in(chunks, how, dropped):
    intake = Intake(JsonLinesParser(), longest=100_000)
    for chunk in chunks:
        getattr(intake, how)(chunk)
    return intake.finish(0, "exited", dropped)


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.sampled_from(LINES), max_size=12),
    st.lists(st.integers(0, 800), max_size=4),
    st.sampled_from((b"", b"\n")),
    st.sampled_from((0, 7)),
)
def test_absorbing_equals_reading(lines, cuts, end, dropped):
    """Whatever an agent prints and wherever it is cut, both ways give the same facts of the call."""
    output = b"\n".join(lines) + end
    places = [0, *sorted(min(cut, len(output)) for cut in cuts), len(output)]
    chunks = [output[begin:stop] for begin, stop in pairwise(places)]
    assert taken_in(chunks, "absorb", dropped) == taken_in(chunks, "feed", dropped)


def test_only_the_last_words_are_kept():
    """Of a long stream the end is what was said, cut or not."""
    line = b'{"ralph": 1, "type": "text", "text": "word %d"}\n'
    chunks = [b"".join(line % (number + at) for at in range(1000)) for number in range(0, 20_000, 1000)]
    said = taken_in(chunks, "absorb", 0).said
    assert said.endswith("word 19998\nword 19999")
    assert said == taken_in(chunks, "feed", 0).said
