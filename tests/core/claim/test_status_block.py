"""The agent's word is read strictly: the last sound block, and nothing else it says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.claim.status_block import CLOSE, KEYS, OPEN, STATUS_INSTRUCTIONS, claim_from, parse_status
from ralph.core.model.agent import AskedWaiver, Claim

GOOD = {
    "STATUS": "COMPLETE",
    "TASKS_COMPLETED_THIS_LOOP": "2",
    "FILES_MODIFIED": "3",
    "TESTS_STATUS": "PASSING",
    "WORK_TYPE": "IMPLEMENTATION",
    "EXIT_SIGNAL": "true",
    "RECOMMENDATION": "All done",
}


def block(prefix="", extra=(), without=(), **changes):
    fields = {**GOOD, **changes}
    lines = [OPEN, *(f"{k}: {v}" for k, v in fields.items() if k not in without), *extra, CLOSE]
    return "\n".join(prefix + line for line in lines) + "\n"


def test_good_block():
    """A good block gives its claim and no problem."""
    read = parse_status("I fixed it.\n\n" + block())
    assert read.claim == Claim("COMPLETE", True, "PASSING", 2, 3, "IMPLEMENTATION", "All done")
    assert read.problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "EXIT_SIGNAL: true",
        "All tasks are complete. DONE",
        OPEN,
        CLOSE,
        f"{CLOSE}\n{OPEN}\n",
        f"{OPEN}\n{CLOSE}\n",
    ],
)
def test_words_are_no_claim(text):
    """Without a complete block there is no claim, whatever the words say."""
    assert parse_status(text).claim is None


def test_echoed_instructions_are_no_claim():
    """An agent that only repeats its prompt has claimed nothing."""
    assert parse_status(STATUS_INSTRUCTIONS).claim is None
    assert "- BLOCKED is" in STATUS_INSTRUCTIONS
    assert all(f"\n{key}: " in STATUS_INSTRUCTIONS for key in KEYS)


def test_last_block_wins():
    """Of two blocks the last counts, and that there were two is recorded."""
    read = parse_status(block() + "more work\n" + block(STATUS="BLOCKED", EXIT_SIGNAL="false"))
    assert read.claim.status == "BLOCKED"
    assert read.problems == ("2 status blocks: the last one counts",)


def test_a_malformed_last_block_is_no_claim():
    """A broken last block does not bring an earlier one back."""
    assert parse_status(block() + block(STATUS="NEARLY")).claim is None


def test_unfinished_block_leaves_the_complete_one():
    """A torn block at the end does not count, and does not undo the complete one."""
    read = parse_status(block() + f"{OPEN}\nSTATUS: BLOCKED\n")
    assert read.claim.status == "COMPLETE"
    assert "an unfinished status block was not counted" in read.problems


def test_reopened_block_counts_from_its_last_opening():
    """An opening inside an open block begins a new one."""
    assert parse_status(f"{OPEN}\nSTATUS: BLOCKED\n" + block()).claim.status == "COMPLETE"


@pytest.mark.parametrize(
    "wrap", ["> {}", "    {}", "```\n{}```\n", "~~~text\n{}~~~\n", "- {}", "````\n```\n{}````\n"]
)
def test_shown_blocks_are_not_said(wrap):
    """A quoted, indented or fenced block in mid-output is not the agent's word."""
    prefix = wrap[:-2] if "\n" not in wrap else ""
    shown = block(prefix=prefix) if prefix else wrap.format(block())
    read = parse_status("I read this in a file:\n" + shown + "and went on.\n")
    assert read.claim is None


@pytest.mark.parametrize("wrap", ["{}", "```\n{}```\n\n", "```text\n{}", "~~~\n{}~~~"])
def test_a_fenced_block_at_the_very_end_is_said(wrap):
    """Agents like fences: when the output ends with the block, it counts."""
    assert parse_status("done\n" + wrap.format(block())).claim.status == "COMPLETE"
    assert parse_status("done\n" + block(prefix="  ")).claim.status == "COMPLETE"


def test_quote_marks_are_never_said():
    """A block behind quote marks is somebody else's, also at the very end."""
    assert parse_status("done\n" + block(prefix="> ") + "\n").claim is None
    assert parse_status("done\n" + block(prefix=" > ") + "\n").claim is None


def test_text_after_a_plain_block_is_recorded():
    """A plain block that is not last still counts, with a remark."""
    read = parse_status(block() + "Bye!\n")
    assert read.claim.status == "COMPLETE"
    assert read.problems == ("the status block is not the last thing in the output",)


def test_complete_with_failing_tests_is_in_progress():
    """A contradiction is resolved against the claim."""
    read = parse_status(block(TESTS_STATUS="FAILING"))
    assert (read.claim.status, read.claim.exit_signal) == ("IN_PROGRESS", False)
    assert len(read.problems) == 2


def test_blocked_is_no_exit_signal():
    """BLOCKED never carries an exit signal."""
    read = parse_status(block(STATUS="BLOCKED"))
    assert (read.claim.status, read.claim.exit_signal) == ("BLOCKED", False)
    assert read.problems


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"extra": ["MOOD: good"]}, "unknown key 'MOOD'"),
        ({"extra": ["FILES_MODIFIED: 4"]}, "FILES_MODIFIED is given twice"),
        ({"extra": ["STATUS: COMPLETE"]}, "STATUS is given twice"),
        ({"FILES_MODIFIED": "many"}, "FILES_MODIFIED is 'many', not a count"),
        ({"FILES_MODIFIED": "9" * 50}, f"FILES_MODIFIED is '{'9' * 50}', not a count"),
        ({"RECOMMENDATION": ""}, "RECOMMENDATION is empty"),
        ({"extra": ["a second line"]}, "RECOMMENDATION has more than one line: the first counts"),
    ],
)
def test_slips_are_recorded(changes, problem):
    """What decides nothing may be wrong: it is written down and the claim stands."""
    read = parse_status(block(**changes))
    assert read.claim.status == "COMPLETE"
    assert read.problems == (problem,)


@pytest.mark.parametrize(
    "changes",
    [
        {"STATUS": "DONE"},
        {"STATUS": ""},
        *({"without": [key]} for key in GOOD),
        {"TESTS_STATUS": "GREEN"},
        {"EXIT_SIGNAL": "maybe"},
        {"extra": ["STATUS: BLOCKED"]},
        {"extra": ["EXIT_SIGNAL: false"]},
        {"without": ["RECOMMENDATION"], "extra": ["some prose"]},
    ],
)
def test_malformed_is_no_claim(changes):
    """Where what decides is wrong, contradicts itself or drowns in prose, there is no claim."""
    read = parse_status(block(**changes))
    assert read.claim is None
    assert read.problems


def test_missing_signal_is_false():
    """What was not said in an event of an agent's own is not assumed."""
    claim = claim_from({"STATUS": "COMPLETE"}).claim
    assert (claim.exit_signal, claim.tests) == (False, "NOT_RUN")


def test_recommendation_is_cleaned():
    """Escape sequences in a recommendation do not reach a screen."""
    assert parse_status(block(RECOMMENDATION="\x1b[31mred\x1b[0m")).claim.recommendation == "red"


LINES = st.lists(
    st.sampled_from(
        [OPEN, CLOSE, *(f"{k}: {v}" for k, v in GOOD.items()), "STATUS: BLOCKED", "```", "> x", "", "text"]
    )
    | st.text(max_size=12),
    max_size=40,
)


@settings(deadline=None)
@given(LINES, st.sampled_from(["", "> ", "  "]))
def test_any_text_is_read_without_an_error(lines, prefix):
    """No output can make the reader fail, and BLOCKED or failing tests never carry an exit signal."""
    read = parse_status("\n".join(prefix + line for line in lines))
    if read.claim is not None:
        assert not (
            read.claim.exit_signal and (read.claim.status == "BLOCKED" or read.claim.tests == "FAILING")
        )


@settings(deadline=None)
@given(st.text(max_size=200))
def test_a_final_block_is_always_found(before):
    """Whatever came before, a good block that ends the output is the claim."""
    read = parse_status(before + "\n" + block())
    assert read.claim == claim_from(GOOD).claim


def test_an_agent_may_ask_for_waivers():
    """One a line, after the seven keys, and only by who is blocked; what has another form is named."""
    asks = (
        "ALLOW: base_tests.red tests/test_x.py::test_y[a b] because the task says so",
        "ALLOW: junk.large a.bin",
    )
    read = parse_status(block(extra=(*asks, "ALLOW: `x`"), STATUS="BLOCKED", EXIT_SIGNAL="false"))
    assert read.claim is not None
    asked = AskedWaiver("base_tests.red", "tests/test_x.py::test_y[a b]", "the task says so")
    assert read.claim.asks == (asked,)
    assert asked.key == "base_tests.red:tests/test_x.py::test_y[a b]"
    assert len(read.problems) == 2
    done = parse_status(block(extra=asks[:1]))
    assert done.claim is not None
    assert (done.claim.status, done.claim.asks) == ("COMPLETE", ())
    assert done.problems == ("ALLOW only goes with BLOCKED",)


@pytest.mark.parametrize("between", ["", "\n"])
def test_waivers_that_directly_follow_the_block_are_asked_for_too(between):
    """Agents put the lines there; what stands behind other words is only talk."""
    ask = "ALLOW: junk.large a.bin because the game needs it"
    blocked = block(STATUS="BLOCKED", EXIT_SIGNAL="false")
    read = parse_status(f"{blocked}{between}{ask}\n")
    assert read.claim is not None
    assert [asked.key for asked in read.claim.asks] == ["junk.large:a.bin"]
    talk = parse_status(f"{blocked}I could also say:\n{ask}\n")
    assert talk.claim is not None
    assert talk.claim.asks == ()
