"""The law of the judge: asked last, heard once a tree, able to hold a result back and to do nothing else."""

from __future__ import annotations

from typing import Any

import builders as b
import law_plan as plans
from builders import Row
from msgspec.structs import replace
from rubrics import RUBRIC

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault, SealedAgent
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.model.rubric import JUDGE, Jury, Opinion, OpinionStatus, Score
from ralph.core.model.spend import Spend, Usage
from ralph.core.model.verdict import Checkpoint

REQUIRED = replace(RUBRIC, required=True)
PUBLISH = model_actions.PublishResult(tree="t1", grade="B")


def sealed(rubric: Any = RUBRIC, **more: Any) -> Order:
    return b.order(rubric=rubric, judge=SealedAgent("critic"), **more)


def asking(rubric: Any = RUBRIC, tree: str = "t1", loop: Loop | None = None, **more: Any) -> Loop:
    """Everything is green and the guards found nothing."""
    return b.conclude(b.guarding(loop or b.based(sealed(rubric, **more)), tree), b.guard(tree))


def opened(loop: Loop, at: float = 0.0) -> Loop:
    owed = loop.todo[0]
    assert isinstance(owed, actions.AskJudge), loop.todo
    event = e.JudgeStarted(
        iteration=loop.iteration, call=owed.call, tree=owed.tree, agent="critic", prompt="q", at=at
    )
    return decide(loop, event)


def said(loop: Loop, score: float | None = 8.0, **more: Any) -> e.JudgeEnded:
    """The open call ended with this weighted score; None: with an answer that cannot be used."""
    rubric = loop.sealed.rubric
    assert rubric is not None
    passed: OpinionStatus = "fail" if score is None or score < rubric.threshold else "pass"
    opinion = Opinion(
        tree=loop.work.tree,
        status="error" if score is None else passed,
        weighted=score,
        required=rubric.required,
        scores=() if score is None else (Score("correct", score),),
        why="no JSON" if score is None else "",
        iteration=loop.iteration,
        suggestions=("do more",),
    )
    values = {"opinion": opinion, "usage": Usage(tokens=10, cost=0.5), **more}
    return e.JudgeEnded(
        **{
            "iteration": loop.iteration,
            "call": loop.call.number,
            "tree": loop.work.tree,
            **values,
        }
    )


def heard(loop: Loop, score: float | None = 8.0, **more: Any) -> Loop:
    loop = opened(loop)
    return decide(loop, said(loop, score, **more))


def fault(kind: Any, **more: Any) -> dict[str, Any]:
    return {"opinion": None, "fault": Fault(kind, "busy", **more), "usage": Usage()}


OPEN = opened(asking())
OPEN_REQUIRED = opened(asking(REQUIRED))
PAUSING = opened(decide(asking(REQUIRED), e.PauseAsked(reason="lunch")))
WAITING = heard(asking(REQUIRED), **fault("network"))
STUCK = b.close(heard(asking(REQUIRED), **fault("auth")))
PAID = Spend(calls=2, blind=1, tokens=10, cost=0.5)
UNPAID = Spend(calls=2, blind=2)
SHORT = said(OPEN_REQUIRED, 6.5).opinion
assert SHORT is not None
SENTENCE = f"{JUDGE}: 6.50 of 10, 7.00 asked for: correct 6.5"
GREEN_BEST = Checkpoint(1, "t1", "c-t1", passing=1, red=0)
LAST_QUESTION = actions.AskJudge(tree="t1", call=3, then=PUBLISH)

ROWS = [
    Row(
        "every check and guard passed: the judge comes before the result",
        b.guarding(b.based(sealed())),
        e.GuardsEnded(iteration=1, tree="t1", results=(b.guard(),)),
        {
            "proof.guards": (b.guard(),),
            "proof.guards_tree": "t1",
            "grade": "B",
            "proof.unproven": ("test: read by exit code only, not per test",),
            "todo": (actions.AskJudge(tree="t1", call=2, then=PUBLISH),),
        },
    ),
    Row(
        "the call is spent from its beginning, at a cost that nobody knows yet",
        asking(),
        e.JudgeStarted(iteration=1, call=2, tree="t1", agent="critic", prompt="q", at=3.0),
        {
            "call.number": 2,
            "spend": UNPAID,
            "call.times": (3.0,),
            "jury": Jury(open=True, prompt="q"),
            "now": 3.0,
            "last_work_at": 3.0,
        },
    ),
    Row(
        "it passes: what was owed is owed again",
        OPEN,
        said(OPEN),
        {"spend": PAID, "jury": Jury(prompt="q", opinion=said(OPEN).opinion), "todo": (PUBLISH,)},
    ),
    Row(
        "an advisory refusal is kept and changes nothing",
        OPEN,
        said(OPEN, 1.0),
        {"spend": PAID, "jury": Jury(prompt="q", opinion=said(OPEN, 1.0).opinion), "todo": (PUBLISH,)},
    ),
    Row(
        "an advisory judge in trouble is done without",
        OPEN,
        said(OPEN, **fault("limit")),
        {
            "jury": Jury(
                prompt="q",
                opinion=Opinion(tree="t1", status="skipped", why="limit: busy", iteration=1, agent="critic"),
            ),
            "todo": (PUBLISH,),
        },
    ),
    Row(
        "an answer that cannot be used is asked for once more",
        OPEN,
        said(OPEN, None),
        {"spend": PAID, "jury": Jury(prompt="q", tries=1, trouble="no JSON"), "todo": (LAST_QUESTION,)},
    ),
    Row(
        "an interrupted call is made again and counted nowhere",
        OPEN,
        said(OPEN, **fault("interrupted")),
        {"jury": Jury(prompt="q"), "todo": (LAST_QUESTION,)},
    ),
    Row(
        "a required refusal sends the work back, from where it is",
        OPEN_REQUIRED,
        said(OPEN_REQUIRED, 6.5),
        {
            "phase": "working",
            "spend": PAID,
            "grade": None,
            "progress.best": GREEN_BEST,
            "jury": Jury(prompt="q", opinion=SHORT, gaps=(0.5,)),
            "proof.not_yet": (SENTENCE,),
            "iteration": 2,
            "work.tree_before": "t1",
            "progress.history": (b.footprint(progress=False),),
            "todo": (actions.RunAgent(iteration=2, call=3),),
        },
    ),
    Row(
        "a required refusal while a pause is asked",
        PAUSING,
        said(PAUSING, 6.5),
        {
            "phase": "paused",
            "spend": PAID,
            "grade": None,
            "progress.best": GREEN_BEST,
            "jury": Jury(prompt="q", opinion=SHORT, gaps=(0.5,)),
            "proof.not_yet": (SENTENCE,),
            "progress.history": (b.footprint(progress=False),),
            "control.pause_reason": "",
            "reason": "lunch",
            "todo": (),
        },
    ),
    Row(
        "trouble that time heals is waited for, where the judge is required",
        OPEN_REQUIRED,
        said(OPEN_REQUIRED, **fault("network")),
        {
            "phase": "waiting",
            "jury": Jury(prompt="q", limits_hit=1),
            "control.held_todo": (LAST_QUESTION,),
            "control.held_phase": "judging",
            "control.wait_reason": f"{JUDGE}: network: busy",
            "todo": (actions.Wait(seconds=20.0, until=None, why=f"{JUDGE}: network: busy"),),
        },
    ),
    Row(
        "after the wait the judge is asked, not the agent",
        WAITING,
        e.WaitOver(),
        {
            "phase": "judging",
            "control.held_todo": (),
            "control.held_phase": "working",
            "control.wait_reason": "",
            "todo": (LAST_QUESTION,),
        },
    ),
    Row(
        "a resume after trouble with the judge asks the judge",
        STUCK,
        e.ResumeAsked(),
        {
            "phase": "judging",
            "outcome": None,
            "reason": "",
            "control.held_todo": (),
            "control.held_phase": "working",
            "todo": (LAST_QUESTION,),
        },
    ),
]


def planned(rubric: Any) -> Loop:
    """A plan of two items, the last of which is verified and owes its commit."""
    loop = plans.begun(plans.order(rubric=rubric, judge=SealedAgent("critic")))
    loop = plans.verified(loop, "t1", "A-1", said="done")
    loop = plans.judged(plans.called(loop, "t2", said="done signal"), "t2", *plans.IDS)
    return plans.concluded(loop, "t2")


WHOLE = planned(REQUIRED)
LAST_ITEM = e.ItemPublished(item="b", branch="ralph/fix-1", commit="r-t2", tree="t2")
PLANNED = [Row("the whole of a plan, before the loop may end", WHOLE, LAST_ITEM, {})]
EXACT = ROWS
ROWS = [*EXACT, *PLANNED]


def finish(loop: Loop) -> actions.Finish:
    owed = loop.todo[0]
    assert isinstance(owed, actions.Finish), loop.todo
    return owed


def loop_waiting() -> Loop:
    return heard(asking(REQUIRED), **fault("network"))
