"""After a loop: bringing its result into the user's branch, and taking that back.

Each is journaled as intent and end around the one effect, so a kill in between is finished by the same
command. How files of the user are changed is in `shell.landing`; what may be done when is the core's word.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from ralph.app.results.rejudge import rejudge_tree
from ralph.app.words.format import MERGE_WORDS
from ralph.clock import SystemClock
from ralph.core.decide.stints.approval import refuse_landing
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import DONE
from ralph.core.views.plan_view import newest_item
from ralph.errors import NeedsHuman, NothingToDo, UserError
from ralph.shell.git.project import is_ancestor
from ralph.shell.git.refs import loop_ref, read_refs
from ralph.shell.git.store import Store
from ralph.shell.landing import land
from ralph.shell.landing.recover import Landing
from ralph.shell.run.hold import HeldLoop, hold_loop


class MergeRequest(Struct, frozen=True, kw_only=True):
    loop: str
    checkpoint: int | None = None  # an unverified one, instead of the result
    rejudge: bool = False  # the branch has moved: judge the merged tree, and land it if it passes
    unproven: bool = False  # the user's yes to a result that is green and not proven


class Landed(Struct, frozen=True):
    branch: str
    old: str
    new: str
    verified: bool
    note: str = ""


def merge(
    request: MergeRequest,
    env: Mapping[str, str],
) -> Landed:
    """Land a loop's result; a landing that was killed half-way is finished first."""
    name, checkpoint = request.loop, request.checkpoint
    with hold_loop(name, env, SystemClock()) as held:
        loop, store = held.loop, held.store
        if loop.landing.state == "landing":
            return _finish_landing(held)
        if loop.landing.state or loop.landing.was_dropped:
            raise NothingToDo(
                f"loop '{name}' is {_merge_word(loop)} already",
                code="E-LAND-DONE",
                next=f"ralph status {name}",
            )
        new, verified = _what_to_land(loop, store, checkpoint)
        refuse_landing(loop, new)
        old = store.project.head
        note = "" if verified else "not verified"
        if checkpoint is None and loop.outcome == "unproven":
            _refuse_unproven(loop, agreed=request.unproven)
            verified, note = False, "green, but not proven"
        if _parent_base(loop) != old:
            new, merged = _merge_moved_branch(held, env, request, old, new)
            verified, note = verified and not merged, merged or note
        order = loop.sealed
        start = order.base.commit if order.with_changes and _parent_base(loop) == old else None
        plan = Landing(old=old, new=new, user_start=start)
        problems = land.check_landing(store, old, new, start)
        if problems:
            raise land.refusal_error(problems, f"ralph merge {name}")
        branch = (store.project.branch or "").removeprefix("refs/heads/")
        held.scribe.append(e.LandingStarted(direction="land", branch=branch, old=old, new=new))
        try:
            land.land(store, name, plan, date=int(held.loop.now), note=held.note)
        except BaseException:
            if not os.path.exists(held.note):
                held.scribe.append(e.LandingEnded(direction="land", done=False, note="refused"))
            raise
        held.scribe.append(e.LandingEnded(direction="land", done=True, note=note))
        return Landed(branch=branch, old=old, new=new, verified=verified, note=note)


def _merge_word(loop: Loop) -> str:
    return "discarded" if loop.landing.was_dropped else MERGE_WORDS[loop.landing.state]


def _parent_base(loop: Loop) -> str:
    """The commit on which the result can land as a fast-forward."""
    order = loop.sealed
    return order.base.head_commit if order.with_changes else order.base.commit


def _what_to_land(loop: Loop, store: Store, checkpoint: int | None) -> tuple[str, bool]:
    name = loop.sealed.loop
    newest = newest_item(loop)
    if newest and checkpoint == newest:
        return loop.landing.result, False  # one commit for each verified item, each with its evidence
    if checkpoint is not None:
        ref = loop_ref(name, f"checkpoint/{checkpoint}")
        found = read_refs(store.project, ref).get(ref)
        if found is None:
            raise UserError(
                f"loop '{name}' has no checkpoint {checkpoint}",
                code="E-CHECKPOINT",
                next=f"ralph logs {name}",
            )
        return found, False
    if loop.phase != "ended" or loop.outcome not in DONE:
        at = newest or (loop.progress.best.iteration if loop.progress.best else 0)
        better = f" --checkpoint {at}" if at else ""
        why = "an unverified checkpoint lands only when you name it"
        if newest:
            why = "some items are verified, the whole is not: they are merged when you name their checkpoint"
        raise UserError(
            f"loop '{name}' has no verified result ({loop.outcome or loop.phase})",
            code="E-LAND-UNVERIFIED",
            why=why,
            next=f"ralph merge {name}{better}" if better else f"ralph status {name}",
        )
    if not loop.landing.result:
        raise NothingToDo(
            f"loop '{name}' changed nothing: {loop.reason}", code="E-LAND-EMPTY", next=f"ralph report {name}"
        )
    return loop.landing.result, True


def _refuse_unproven(loop: Loop, *, agreed: bool) -> None:
    """Green is not proof: that such a result is taken is the user's own decision."""
    if agreed:
        return
    raise NeedsHuman(
        f"the result of loop '{loop.sealed.loop}' is not proven",
        code="E-LAND-UNPROVEN",
        why=loop.reason,
        next=f"ralph merge {loop.sealed.loop} --unproven",
    )


def _merge_moved_branch(
    held: HeldLoop, env: Mapping[str, str], request: MergeRequest, old: str, new: str
) -> tuple[str, str]:
    """Your branch has moved on: the merge of both, judged anew when asked for."""
    loop, store = held.loop, held.store
    name = loop.sealed.loop
    found = land.merge_tree(store, old, new)
    if found.tree is None:
        raise NeedsHuman(
            "the result and your branch changed the same lines",
            code="E-LAND-CONFLICT",
            why=", ".join(found.conflicts[:5]),
            next=f"git merge {new[:12] if request.checkpoint else loop.landing.branch}",
        )
    if not request.rejudge:
        flags = f" --checkpoint {request.checkpoint}" if request.checkpoint is not None else ""
        flags += " --unproven" if request.unproven else ""
        raise NeedsHuman(
            "your branch has moved since the loop began, so the merged tree is not the verified one",
            code="E-LAND-MOVED",
            why=f"it is at {old[:12]}, the loop began at {_parent_base(loop)[:12]}",
            next=f"ralph merge {name}{flags} --rejudge",
        )
    rejudge_tree(held, env, found.tree)
    commit = land.commit_merge(
        store, found.tree, [old, new], f"Merge the result of ralph loop {name}", int(loop.now)
    )
    return commit, ""


def _finish_landing(held: HeldLoop) -> Landed:
    loop = held.loop
    order = loop.sealed
    start = order.base.commit if order.with_changes and _parent_base(loop) == loop.landing.old else None
    plan = Landing(old=loop.landing.old, new=loop.landing.new, user_start=start)
    done = _resume_landing(held, plan)
    held.scribe.append(e.LandingEnded(direction="land", done=done, note="finished after an interruption"))
    branch = (held.store.project.branch or "").removeprefix("refs/heads/")
    if not done:
        raise NothingToDo(
            "the interrupted merge had changed nothing", code="E-LAND-NOT", next=f"ralph merge {order.loop}"
        )
    verified = loop.outcome == "verified" and plan.new == loop.landing.result
    return Landed(branch, plan.old, plan.new, verified, note="finished after an interruption")


def _resume_landing(held: HeldLoop, plan: Landing) -> bool:
    """Finish what a killed command began; False when it had not begun.

    Its note stands from before the first effect until after the last: without one it is all or nothing.
    """
    if os.path.exists(held.note):
        return land.recover_landing(held.store, plan, note=held.note) == "landed"
    result = plan.old if plan.undo else plan.new
    there = is_ancestor(held.store.project, result, held.store.project.head)
    return there is not plan.undo


def undo(name: str, env: Mapping[str, str]) -> Landed:
    """Take back a landing on which nobody has built."""
    with hold_loop(name, env, SystemClock()) as held:
        loop, order = held.loop, held.loop.sealed
        if loop.landing.state not in ("landed", "undoing"):
            raise NothingToDo(f"loop '{name}' is not merged", code="E-UNDO-NONE", next=f"ralph status {name}")
        start = order.base.commit if order.with_changes and _parent_base(loop) == loop.landing.old else None
        plan = Landing(old=loop.landing.old, new=loop.landing.new, user_start=start)
        back = Landing(old=plan.new, new=plan.old, user_start=start, undo=True)
        branch = (held.store.project.branch or "").removeprefix("refs/heads/")
        if loop.landing.state != "undoing" or not _resume_landing(held, back):
            held.scribe.append(e.LandingStarted(direction="undo", branch=branch, old=plan.old, new=plan.new))
            try:
                land.undo_landing(held.store, name, plan, note=held.note)
            except BaseException:
                if not os.path.exists(held.note):
                    held.scribe.append(e.LandingEnded(direction="undo", done=False, note="refused"))
                raise
        held.scribe.append(e.LandingEnded(direction="undo", done=True))
        return Landed(branch=branch, old=plan.new, new=plan.old, verified=False)
