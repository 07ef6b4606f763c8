"""What guards ask about waits for a user's word: the loop ends asking, a grant is judged on the same tree."""

import builders as b
import msgspec.structs

from ralph.app.resume_terms import waivers
from ralph.core.decide.grants import accusations, left_to_do, open_waivers, question
from ralph.core.decide.machine import decide
from ralph.core.decide.stuck.health import escalations
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import AskedWaiver, Claim
from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.views.summary import summarise

replace = msgspec.structs.replace
KEY = "inventory.weakened:test_a"
ASK = AskedWaiver("inventory.weakened", "test_a", "the rule is new")
BLOCKED = Claim("BLOCKED", recommendation="may it change?", asks=(ASK,))


def asking(tree="t1", *keys):
    findings = tuple(Finding(key, f"{key} differs", asks=True) for key in keys or (KEY,))
    return GuardResult("inventory", tree, applied=True, summary="s", findings=findings, integrity=False)


def todo(loop):
    return loop.todo[0]


def test_a_question_is_told_once_and_then_the_user_is_asked():
    """The agent may answer first; when it leaves the same tree again, the loop waits and accuses nobody."""
    first = b.conclude(b.guarding(b.based()), asking())
    assert isinstance(todo(first), actions.RunAgent)
    again = decide(b.answer(b.call(first)), b.snapshot("t1", first))
    assert (todo(again).outcome, again.progress.integrity_hits, again.progress.accused_trees) == (
        "blocked",
        0,
        (),
    )
    assert todo(again).reason == f"your decision is needed, because this may be intended: {KEY} differs"


def test_a_limit_does_not_hide_the_question():
    """The last iteration ends asking, not exhausted."""
    sealed = replace(b.order(b.gate()), limits=b.Limits(iterations=1))
    assert todo(b.conclude(b.guarding(b.based(sealed)), asking())).outcome == "blocked"
    mixed = (asking(), b.guard("t1", "TODO", name="stubs", integrity=False))
    assert todo(b.conclude(b.guarding(b.based(sealed)), *mixed)).outcome == "exhausted"


def ended_asking():
    loop = b.work(b.based(), "t1", claim=BLOCKED)
    return b.close(b.judge(loop, b.red()))


def test_the_agent_asks_and_the_user_grants():
    """BLOCKED names what is asked for; granted with who and why, the tree is judged again without a call."""
    loop = ended_asking()
    assert (loop.outcome, "the rule is new" in loop.reason) == ("blocked", True)
    assert [one.key for one in open_waivers(loop)] == [KEY]
    after = decide(loop, e.ResumeAsked(author="ann", allow={KEY: "yes"}))
    assert after.sealed.criterion.waivers == {KEY: "yes (granted by ann)"}
    assert (after.call.claim, open_waivers(after)) == (None, ())
    assert todo(after) == actions.RunGates(stage="fast", tree="t1", gates=("test",))
    plain = decide(loop, e.ResumeAsked(author="ann"))
    assert isinstance(todo(plain), actions.RunAgent)
    assert plain.sealed.criterion.waivers == {}


def test_what_was_granted_beforehand_needs_no_asking():
    """By its kind, when the agent asks, apart from waivers of what was seen; the rest still blocks."""
    sealed = b.order(b.gate())
    sealed = replace(sealed, criterion=replace(sealed.criterion, allow_asked=("inventory.weakened",)))
    other = AskedWaiver("protected.gate", "Makefile", "a new target")
    after = b.answer(b.call(b.based(sealed)), BLOCKED)
    assert after.call.claim is None
    assert after.sealed.criterion.granted == {
        KEY: "the rule is new (requested by the agent, allowed in advance)"
    }
    assert after.sealed.criterion.waivers == {}
    after = b.answer(b.call(b.based(sealed)), replace(BLOCKED, asks=(ASK, other)))
    assert after.call.claim is not None
    assert after.call.claim.asks == (other,)


def test_one_waiver_for_each_thing():
    """A file covers its tests, whichever guards spoke of them."""
    keys = (
        "inventory.deleted:t.py::a",
        "base_tests.red:t.py::a",
        "base_tests.red:t.py",
        "inventory.deleted:u.py::b",
    )
    loop = b.conclude(b.guarding(b.based()), asking("t1", *keys))
    assert [one.key for one in open_waivers(loop)] == ["base_tests.red:t.py", "inventory.deleted:u.py::b"]


def test_what_the_user_is_asked_is_named_three_times_at_most():
    """Four questions: three in words, the number of the others; three are all told."""
    keys = [f"inventory.weakened:test_{name}" for name in "abcd"]
    said = [f"{key} differs" for key in keys]
    four, three = (b.conclude(b.guarding(b.based()), asking("t1", *keys[:count])) for count in (4, 3))
    begin = "your decision is needed, because this may be intended: "
    assert question(four) == f"{begin}{'; '.join(said[:3])} and 1 more"
    assert question(three) == f"{begin}{'; '.join(said[:3])}"


def test_one_word_answers_all_that_is_asked():
    """Those that are open now, each by its own id; one that got a reason of its own keeps it."""
    keys = ("inventory.deleted:t.py::a", "base_tests.red:u.py", "inventory.weakened:v.py::c")
    loop = b.conclude(b.guarding(b.based()), asking("t1", *keys))
    given = ("asked=the rule is new", f"{keys[2]}=renamed")
    allow = waivers(loop, given, "")["allow"]
    assert allow == {keys[0]: "the rule is new", keys[1]: "the rule is new", keys[2]: "renamed"}
    assert waivers(b.based(), given[:1], "")["allow"] == {}


def test_what_waits_for_the_user_is_not_told_as_left_to_do():
    """Each question once, and none about another approach; what a guard does not only ask stays."""
    sealed = replace(b.order(b.gate()), limits=b.Limits(iterations=1))
    loop = b.conclude(b.guarding(b.based(sealed)), asking())
    loop = decide(loop, e.LoopEnded(outcome="blocked", reason=question(loop)))
    assert loop.proof.not_yet != ()
    assert (left_to_do(loop), escalations(loop)) == ((), ())
    other = loop.with_proof(guards=(b.guard("t1", "base_tests.red:check=x"),))
    assert left_to_do(other) == loop.proof.not_yet


def test_what_only_guards_minded_can_be_allowed_after_a_limit():
    """The checks are green: the last screen names what stood in the way, of all kinds."""
    sealed = replace(b.order(b.gate()), limits=b.Limits(iterations=1))
    mixed = (asking(), b.guard("t1", "TODO", name="stubs", integrity=False))
    loop = b.conclude(b.guarding(b.based(sealed)), *mixed)
    assert accusations(loop) == ()
    ended = decide(loop, e.LoopEnded(outcome="exhausted", reason="1 of 1 iterations used"))
    assert [one.key for one in accusations(ended)] == [one.key for result in mixed for one in result.findings]
    assert summarise(ended).asked == accusations(ended)
    assert accusations(ended.with_work(tree="t2")) == ()


def test_who_meant_what_a_guard_accuses_of_can_allow_all_of_it():
    """It is no question: nothing is asked, and the guards' other findings go with it."""
    accused = b.conclude(b.guarding(b.based()), b.guard("t1", "base_tests.red:check=x"), asking("t1", KEY))
    assert open_waivers(accused) == ()
    assert [one.key for one in accusations(accused)] == ["base_tests.red:check x"]
    assert accusations(b.conclude(b.guarding(b.based()), asking("t1", KEY))) == ()
    moved = accused.with_work(tree="t2")
    assert accusations(moved) == ()


def test_questions_that_no_record_holds_are_counted():
    """A guard keeps its first findings; who answers them hears how many may follow."""
    kept = replace(asking("t1", "inventory.weakened:test_a"), left_out=5)
    loop = b.conclude(b.guarding(b.based()), kept)
    assert question(loop).endswith("test_a differs (up to 5 more questions may follow these)")


def test_a_wish_that_no_guard_saw_is_said_in_the_agents_words():
    """The agent may ask before any guard does."""
    assert [one.says for one in open_waivers(ended_asking())] == ["requested by the agent: the rule is new"]


def test_a_grant_without_an_author_and_by_its_kind():
    """Nobody is invented as its author; a kind that was granted now holds from now on."""
    after = decide(ended_asking(), e.ResumeAsked(allow={KEY: "yes"}, allow_asked=("protected.gate",)))
    assert after.sealed.criterion.waivers == {KEY: "yes"}
    assert after.sealed.criterion.allow_asked == ("protected.gate",)


def test_a_grant_leaves_a_claim_that_blocks_nothing():
    """Only the question is answered: what the agent said of its work still counts."""
    claim = Claim("IN_PROGRESS")
    loop = b.close(
        b.judge(b.work(b.based(b.order(limits=b.Limits(iterations=1))), "t1", claim=claim), b.red())
    )
    assert decide(loop, e.ResumeAsked(allow={KEY: "yes"}, more_iterations=1)).call.claim == claim


def test_a_test_named_after_its_file_is_covered_and_a_file_with_a_longer_name_is_not():
    """`t.py` covers `t.py::a`; it does not cover `t.pyx::a`."""
    keys = ("base_tests.red:t.py", "inventory.deleted:t.py::a", "inventory.deleted:t.pyx::a")
    loop = b.conclude(b.guarding(b.based()), asking("t1", *keys))
    assert [one.key for one in open_waivers(loop)] == [keys[0], keys[2]]
