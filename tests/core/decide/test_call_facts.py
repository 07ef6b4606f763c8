"""What a call leaves for the next one: its conversation, a shorter prompt, its programs, its cost."""

from __future__ import annotations

from law_faults import ended, kept
from law_machine import CALLING

from ralph.core.model.agent import AgentSession, Fault
from ralph.core.model.spend import Usage


def test_a_conversation_is_kept_only_when_asked_for() -> None:
    """A fresh conversation each time by default; else the newest, unless it may be what went wrong."""
    session = AgentSession("s1", "claude", tokens=5)
    assert ended(CALLING, session=session).call.session is None
    loop = kept(CALLING)
    assert ended(loop, session=session).call.session == session
    assert ended(loop, session=session, fault=Fault("limit", "busy")).call.session == session
    earlier = loop.with_call(session=session)
    assert ended(earlier, fault=Fault("auth", "busy")).call.session == session
    for kind in ("context", "crash", "protocol", "hollow", "request"):
        assert ended(earlier, session=session, fault=Fault(kind, "busy")).call.session is None  # type: ignore[arg-type]


def test_a_prompt_that_was_too_long_is_halved() -> None:
    """Each context fault halves what the next prompt quotes; a call that could read it all ends that."""
    loop = ended(CALLING, fault=Fault("context", "busy"))
    assert loop.call.prompt_halvings == 1
    deep = CALLING.with_call(prompt_halvings=4)
    assert ended(deep, fault=Fault("context", "busy")).call.prompt_halvings == 4
    assert ended(deep, fault=Fault("limit", "busy")).call.prompt_halvings == 4
    assert ended(deep).call.prompt_halvings == 0


def test_programs_are_pinned_by_agent() -> None:
    """The first hash of a program is remembered; a human who resumes accepts a new one."""
    loop = ended(CALLING, program="abc")
    assert loop.agents.programs == {CALLING.sealed.agent.name: "abc"}
    assert ended(CALLING).agents.programs == {}


def test_an_estimated_cost_marks_the_whole() -> None:
    """One computed figure in a sum makes the sum an estimate."""
    assert not ended(CALLING, usage=Usage(5, 0.5)).spend.estimated
    assert ended(CALLING, usage=Usage(5, 0.5, estimated=True)).spend.estimated
