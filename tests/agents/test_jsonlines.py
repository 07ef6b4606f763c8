"""Agents may say anything in any form; only the documented lines count."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.agents import Claimed, Denied, FaultSeen, LimitHit, Raw, Said, Spent, ToolUsed
from ralph.agents._kit.jsonlines import JsonLinesParser
from ralph.agents._kit.lines import Intake
from ralph.core.model.agent import Claim, Fault
from ralph.core.model.spend import Usage

BLOCK = """\
---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 1
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: done
---END_RALPH_STATUS---
"""


def line(kind, /, **fields):
    return json.dumps({"ralph": 1, "type": kind, **fields}).encode() + b"\n"


def call(*output, exit_code=0, ended="exited", dropped=0):
    intake = Intake(JsonLinesParser())
    facts = [fact for chunk in output for fact in intake.feed(chunk)]
    return facts, intake.finish(exit_code, ended, dropped)


@pytest.mark.parametrize(
    ("raw", "fact"),
    [
        (line("text", text="hi \x1b[31mred"), Said("hi red")),
        (line("tool", tool="edit", path="a.py", added=3, removed=1), ToolUsed("edit", "a.py", "", 3, 1)),
        (line("tool", tool="bash", detail="ls\n-l"), ToolUsed("bash", "", "ls -l")),
        (line("usage", tokens=12, cost=0.5), Spent(12, 0.5)),
        (line("usage", tokens=12), Spent(12, None)),
        (line("limit", message="full", reset_at=1_800_000_000), LimitHit("full", 1.8e9)),
        (line("limit", message="full", reset_at="1800000000"), LimitHit("full", 1.8e9)),
        (line("limit", message="full", reset_at=1_800_000_000_000), LimitHit("full", 1.8e9)),
        (line("limit", message="full", reset_at="2027-01-15T08:00:00Z"), LimitHit("full", 1.8e9)),
        (line("limit", message="full", reset_at="2027-01-15T10:00:00+02:00"), LimitHit("full", 1.8e9)),
        (line("limit", message="full", reset_at="2027-01-15T08:00:00"), LimitHit("full", 1.8e9)),
        (line("limit", message="full", reset_at="soon"), LimitHit("full", None)),
        (line("limit"), LimitHit("", None)),
        (line("fault", kind="network", message="refused"), FaultSeen("network", "refused")),
        (line("fault", kind="gremlins"), FaultSeen("crash", "")),
        (line("denied", what="rm -rf /"), Denied("rm -rf /")),
        (
            line("claim", status="BLOCKED", recommendation="help"),
            Claimed(Claim("BLOCKED", recommendation="help")),
        ),
    ],
)
def test_documented_lines(raw, fact):
    """Each documented line gives its fact."""
    facts, _ = call(raw)
    assert facts == [fact]


@pytest.mark.parametrize(
    "raw",
    [
        b"{}\n",
        b"{not json\n",
        b'{"type": "text", "text": "no marker"}\n',
        b'{"ralph": 2, "type": "text", "text": "newer"}\n',
        b'{"ralph": 1}\n',
        b'{"ralph": 1, "type": "dance"}\n',
        b'{"ralph": 1, "type": ["text"]}\n',
        b'{"ralph": 1, "type": "text", "text": 5}\n',
        b'{"ralph": 1, "type": "usage", "tokens": -5}\n',
        b'{"ralph": 1, "type": "usage", "tokens": true, "cost": "free"}\n',
        b'{"ralph": 1, "type": "usage", "cost": 1e999}\n',
        b'{"ralph": 1, "type": "usage", "tokens": ' + b"9" * 500 + b"}\n",
        b'{"ralph": 1, "type": "claim", "status": "SURE"}\n',
        b'{"ralph": 1, "type": "denied"}\n',
        b'{"ralph": 1, "x": ' + b"[" * 100_000 + b"\n",
        b'{"ralph": 1, "x": ' + b'{"a":' * 100_000 + b"\n",
        b'{"ralph\xff": "\xfe\n',
    ],
)
def test_anything_else_is_kept_raw(raw):
    """Foreign, torn, hostile or newer lines are kept and change nothing."""
    facts, ended = call(raw)
    assert [type(fact) for fact in facts] == [Raw]
    assert (ended.usage, ended.claim, ended.fault) == (Usage(), None, None)


def test_bad_utf8_in_a_record_is_survived():
    """A broken byte in a text costs that byte only."""
    facts, _ = call(b'{"ralph": 1, "type": "text", "text": "caf\xe9"}\n')
    assert facts == [Said("caf\ufffd")]


def test_usage_is_summed():
    """Deltas are added; what was never reported stays unknown."""
    _, ended = call(line("usage", tokens=10), line("usage", tokens=5, cost=0.25), line("usage", cost=0.5))
    assert ended.usage == Usage(15, 0.75)
    assert call(line("usage", tokens=10))[1].usage == Usage(10, None)
    assert call(line("usage", tokens=0, cost=0))[1].usage == Usage(0, 0.0)
    assert call(b"words\n")[1].usage == Usage(None, None)


def test_partly_seen_usage_is_unknown():
    """When output was lost, a sum over the rest is not given out as the sum."""
    assert call(line("usage", tokens=10, cost=1.0), dropped=1)[1].usage == Usage()


def test_block_in_plain_text_is_the_claim():
    """A status block at the end of plain text is the claim."""
    _, ended = call(b"working\n" * 50_000, BLOCK.encode())
    assert ended.claim == Claim("COMPLETE", True, "PASSING", 1, 1, "IMPLEMENTATION", "done")


def test_block_in_a_text_line_is_the_claim():
    """A status block inside the text of a JSON line counts as well."""
    assert call(line("text", text="bye\n" + BLOCK))[1].claim.status == "COMPLETE"


def test_claim_line_goes_before_the_block():
    """The structured claim is trusted more than the block, and the last one counts."""
    _, ended = call(line("claim", status="IN_PROGRESS"), line("claim", status="BLOCKED"), BLOCK.encode())
    assert ended.claim.status == "BLOCKED"


def test_claim_line_obeys_the_rules_of_the_block():
    """A structured claim with failing tests is no COMPLETE either."""
    claim = call(line("claim", status="COMPLETE", tests_status="FAILING", exit_signal=True))[1].claim
    assert (claim.status, claim.exit_signal) == ("IN_PROGRESS", False)


@pytest.mark.parametrize(
    "words",
    [
        b"Usage limit reached, resets at 5pm\n",
        b"429 Too Many Requests\n",
        b"DONE. All tests pass. COMPLETE\n",
    ],
)
def test_prose_is_never_read(words):
    """Words about limits or success are words."""
    _, ended = call(words)
    assert (ended.fault, ended.claim) == (None, None)


@pytest.mark.parametrize(
    ("output", "exit_code", "ended", "kind"),
    [
        (b"", 0, "exited", None),
        (b"", 1, "exited", "crash"),
        (b"", -11, "exited", "crash"),
        (b"", None, "timeout", "timeout"),
        (b"", -9, "idle", "idle"),
        (b"", -15, "stopped", "interrupted"),
        (b"", -9, "killed", "interrupted"),
        (b"", None, "runner-lost", "interrupted"),
        (b"no such file\n", None, "spawn-error", "missing"),
        (line("limit", message="full"), 1, "exited", "limit"),
        (line("limit", message="full"), None, "timeout", "limit"),
        (line("fault", kind="auth", message="log in"), 0, "exited", "auth"),
        (line("limit", message="full") + line("fault", kind="network"), 0, "exited", "limit"),
    ],
)
def test_faults(output, exit_code, ended, kind):
    """How a call ended maps to one kind of fault, reported ones first."""
    fault = call(output, exit_code=exit_code, ended=ended)[1].fault
    assert (fault.kind if fault else None) == kind


def test_crash_quotes_the_last_words():
    """A crash says how it ended and what was said last, without escape sequences."""
    fault = call(b"hello\nTraceback\n\x1b[31mValueError: x\x1b[0m\n\n", exit_code=3)[1].fault
    assert fault == Fault("crash", "the agent exited with 3: ValueError: x")
    assert call(exit_code=-9)[1].fault.message == "the agent was ended by SIGKILL"
    assert call(exit_code=137)[1].fault.message == "the agent was ended by SIGKILL"
    assert call(exit_code=127)[1].fault.message == "the agent exited with 127 (command not found)"


def test_limit_carries_its_reset_time():
    """The time at which a limit is lifted reaches the fault."""
    assert call(line("limit", message="full", reset_at=1.8e9), exit_code=1)[1].fault == Fault(
        "limit", "full", 1.8e9
    )


def test_denials_are_collected():
    """Denials are listed in order, up to a bound."""
    _, ended = call(*[line("denied", what=f"cmd {n}") for n in range(30)])
    assert ended.denials[:2] == ("cmd 0", "cmd 1")
    assert len(ended.denials) == 20


def test_said_is_the_end_cleaned_and_cut():
    """The last words are cleaned and short, however much was said."""
    _, ended = call(b"x" * 70_000 + b"\n", b"a line\n" * 10_000, b"the \x1b[1mend\x1b[0m\n")
    assert ended.said.endswith("the end")
    assert len(ended.said) <= 4000


@settings(deadline=None)
@given(st.lists(st.binary(max_size=80), max_size=20), st.integers(-20, 260))
def test_any_output_is_survived(chunks, exit_code):
    """No output and no exit code can make the parser fail."""
    call(*(b'{"ralph": 1' + chunk for chunk in chunks), *chunks, exit_code=exit_code)


FIELD = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.integers(), max_size=2)
)
KINDS = ["text", "tool", "usage", "limit", "fault", "claim", "denied"]
NAMES = [
    "text",
    "tool",
    "path",
    "detail",
    "added",
    "tokens",
    "cost",
    "message",
    "reset_at",
    "kind",
    "status",
    "what",
]


@pytest.mark.slow
@settings(deadline=None)
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMES), FIELD, max_size=6))
def test_any_fields_are_survived(kind, fields):
    """A documented line with fields of any type gives at most one fact and never an error."""
    facts, ended = call(json.dumps({"ralph": 1, "type": kind, **fields}).encode() + b"\n")
    assert len(facts) == 1
    assert ended.usage.tokens is None or ended.usage.tokens >= 0
