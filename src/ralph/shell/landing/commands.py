"""After a loop: bringing its result into the user's branch, taking that back, and throwing a loop away.

Each is journaled as intent and end around the one effect, so a kill in between is finished by the same
command. How files of the user are changed is in `landing`; what may be done when is the core's word.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from ralph.clock import SystemClock
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Verdict
from ralph.core.proof import exit_gate
from ralph.core.proof.causes import is_missing
from ralph.core.views.plan_view import newest_item
from ralph.errors import NeedsHuman, NothingToDo, SetupError, UserError
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.leftovers import sweep
from ralph.shell.git.project import find_project, user_call
from ralph.shell.git.refs import loop_ref, read_refs
from ralph.shell.git.store import Store, open_store
from ralph.shell.git.workspace import make_workspace, remove_loop
from ralph.shell.journal import record
from ralph.shell.journal.open import open_journal
from ralph.shell.landing import land
from ralph.shell.landing.recover import Landing
from ralph.shell.ports import Attention, Watcher
from ralph.shell.run.open import loop_folder, open_site
from ralph.shell.run.scribe import Scribe
from ralph.shell.sandbox.own_copy import give_back
from ralph.shell.state.directory import State, open_state, state_dir


class Opened(msgspec.Struct):
    """A loop held for one command: its lock, its journal, its store."""

    scribe: Scribe
    store: Store
    state: State
    note: str

    @property
    def loop(self) -> Loop:
        return self.scribe.loop


@contextmanager
def open_loop(name: str, env: Mapping[str, str], watcher: Watcher) -> Iterator[Opened]:
    """The loop with nobody else driving it."""
    clock = SystemClock()
    state = open_state(state_dir(env), create=True)
    with open_journal(state.root) as journal:
        stint = journal.admit(name, at=int(clock.now() * 1000))
        try:
            scribe = Scribe(journal, name, record.load(journal, name), clock, watcher, state.root)
            folder = loop_folder(state, name)
            store = open_store(find_project(scribe.loop.sealed.repo), os.path.join(folder, "store"))
            sweep(store.dir)
            yield Opened(scribe, store, state, os.path.join(folder, "landing.json"))
        finally:
            stint.release()


def put_event(name: str, env: Mapping[str, str], event: e.AnyEvent, watcher: Watcher) -> Loop:
    """One fact into a loop that nobody drives, and nothing else done."""
    with open_loop(name, env, watcher) as held:
        return held.scribe.append(event)


def send(name: str, env: Mapping[str, str], event: e.AnyEvent, now: float) -> None:
    """A command for the runner that drives this loop; it is heard within a fraction of a second."""
    state = open_state(state_dir(env), create=True)
    with open_journal(state.root) as journal:
        journal.inbox_put(name, int(now * 1000), e.kind_of(event), e.encode(event))


class Landed(msgspec.Struct, frozen=True):
    branch: str
    old: str
    new: str
    verified: bool
    note: str = ""


def merge(
    name: str,
    env: Mapping[str, str],
    watcher: Watcher,
    attend: Attention,
    *,
    checkpoint: int | None = None,
    rejudge: bool = False,
) -> Landed:
    """Land a loop's result; a landing that was killed half-way is finished first."""
    with open_loop(name, env, watcher) as held:
        loop, store = held.loop, held.store
        if loop.landing.state == "landing":
            return _finish_landing(held)
        if loop.landing.state or loop.landing.was_dropped:
            raise NothingToDo(
                f"loop '{name}' is {'dropped' if loop.landing.was_dropped else loop.landing.state} already",
                code="E-LAND-DONE",
                next=f"ralph status {name}",
            )
        new, verified = _what_to_land(loop, store, checkpoint)
        old = store.project.head
        note = "" if verified else "not verified"
        if _parent_base(loop) != old:
            new, note = _merge_moved_branch(held, env, attend, old, new, rejudge=rejudge)
            verified = verified and not note
        order = loop.sealed
        start = order.base.commit if order.with_changes and _parent_base(loop) == old else None
        plan = Landing(old=old, new=new, user_start=start)
        problems = land.check_landing(store, old, new, start)
        if problems:
            raise land.refusal_error(problems)
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
    if loop.phase != "ended" or loop.outcome not in ("verified", "satisfied"):
        at = newest or (loop.progress.best.iteration if loop.progress.best else 0)
        better = f" --checkpoint {at}" if at else ""
        why = "an unverified checkpoint lands only when you name it"
        if newest:
            why = "some items are verified, the whole is not: they land when you name their checkpoint"
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


def _merge_moved_branch(
    held: Opened, env: Mapping[str, str], attend: Attention, old: str, new: str, *, rejudge: bool
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
            next=f"git merge {loop.landing.branch}",
        )
    if not rejudge:
        raise NeedsHuman(
            "your branch has moved since the loop began, so the merged tree is not the verified one",
            code="E-LAND-MOVED",
            why=f"it is at {old[:12]}, the loop began at {_parent_base(loop)[:12]}",
            next=f"ralph merge {name} --rejudge",
        )
    _rejudge(held, env, attend, found.tree)
    commit = land.commit_merge(
        store, found.tree, [old, new], f"Merge the result of ralph loop {name}", int(loop.now)
    )
    return commit, ""


def _rejudge(held: Opened, env: Mapping[str, str], attend: Attention, tree: str) -> None:
    """Every gate over the merged tree; raises when it does not pass, or gave no answer."""
    loop, store = held.loop, held.store
    name = loop.sealed.loop
    site = open_site(loop.sealed, held.state, env, SystemClock())
    space = make_workspace(
        store,
        site.workspace,
        os.path.join(site.folder, "git"),
        loop.sealed.base.commit,
        alternates=site.objects_at,
        history=loop.sealed.history,
    )
    judge = Judge(site, space.modules)
    verdicts: dict[str, Verdict] = {}
    for verdict in judge.patiently(loop.sealed.criterion.gates, tree, "final", loop.proof.baseline, attend):
        verdicts[verdict.gate] = verdict
    remove_tree(os.path.join(site.folder, "checkouts"))
    missing = next((one for one in verdicts.values() if is_missing(one, settled=True)), None)
    if missing is not None:
        raise SetupError(
            "the merged tree could not be judged",
            code="E-LAND-UNJUDGED",
            why=f'gate "{missing.gate}" gave no answer: {missing.summary}',
            next=f"ralph merge {name} --rejudge",
        )
    answer = exit_gate.decide_exit(
        loop.sealed.criterion,
        loop.proof.baseline,
        verdicts,
        None,
        changed=True,
        claim=loop.call.claim,
        protection=site.level,
    )
    if not answer.verified:
        raise NeedsHuman(
            "the merged tree does not pass its checks",
            code="E-LAND-RED",
            why="; ".join(answer.not_yet),
            next=f"git merge {loop.landing.branch}",
        )


def _finish_landing(held: Opened) -> Landed:
    loop = held.loop
    order = loop.sealed
    start = order.base.commit if order.with_changes and _parent_base(loop) == loop.landing.old else None
    plan = Landing(old=loop.landing.old, new=loop.landing.new, user_start=start)
    done = _resume_landing(held, plan)
    held.scribe.append(e.LandingEnded(direction="land", done=done, note="finished after an interruption"))
    branch = (held.store.project.branch or "").removeprefix("refs/heads/")
    if not done:
        raise NothingToDo(
            "the interrupted landing had changed nothing", code="E-LAND-NOT", next=f"ralph merge {order.loop}"
        )
    return Landed(
        branch=branch, old=plan.old, new=plan.new, verified=True, note="finished after an interruption"
    )


def _resume_landing(held: Opened, plan: Landing) -> bool:
    """Finish what a killed command began; False when it had not begun.

    Its note stands from before the first effect until after the last: without one it is all or nothing.
    """
    if os.path.exists(held.note):
        return land.recover_landing(held.store, plan, note=held.note) == "landed"
    result = plan.old if plan.undo else plan.new
    asked = ["merge-base", "--is-ancestor", result, held.store.project.head]
    there = user_call(held.store.project, asked, ok=None).code == 0
    return there is not plan.undo


def undo(name: str, env: Mapping[str, str], watcher: Watcher) -> Landed:
    """Take back a landing on which nobody has built."""
    with open_loop(name, env, watcher) as held:
        loop, order = held.loop, held.loop.sealed
        if loop.landing.state not in ("landed", "undoing"):
            raise NothingToDo(
                f"loop '{name}' has not landed", code="E-UNDO-NONE", next=f"ralph status {name}"
            )
        start = order.base.commit if order.with_changes and _parent_base(loop) == loop.landing.old else None
        plan = Landing(old=loop.landing.old, new=loop.landing.new, user_start=start)
        back = Landing(old=plan.new, new=plan.old, user_start=start, undo=True)
        branch = (held.store.project.branch or "").removeprefix("refs/heads/")
        if loop.landing.state != "undoing" or not _resume_landing(held, back):
            held.scribe.append(e.LandingStarted(direction="undo", branch=branch, old=plan.old, new=plan.new))
            try:
                land.undo_landing(held.store, plan, note=held.note)
            except BaseException:
                if not os.path.exists(held.note):
                    held.scribe.append(e.LandingEnded(direction="undo", done=False, note="refused"))
                raise
        held.scribe.append(e.LandingEnded(direction="undo", done=True))
        return Landed(branch=branch, old=plan.new, new=plan.old, verified=False)


class Belongings(msgspec.Struct, frozen=True):
    """What a loop owns outside the journal."""

    refs: tuple[str, ...]
    branch: str
    folders: tuple[str, ...]


def belongings(held: Opened) -> Belongings:
    loop, state = held.loop, held.state
    name = loop.sealed.loop
    project = held.store.project
    there = (
        user_call(project, ["rev-parse", "-q", "--verify", f"refs/heads/{loop.landing.branch}"], ok=None).code
        == 0
    )
    places = (os.path.join(state.workspaces, name), loop_folder(state, name))
    return Belongings(
        refs=tuple(read_refs(project, loop_ref(name, ""))),
        branch=loop.landing.branch if there and loop.landing.result else "",
        folders=tuple(place for place in places if os.path.isdir(place)),
    )


def drop(held: Opened) -> None:
    """Remove refs, result branch, workspace and folders. The record of what happened stays."""
    loop, state = held.loop, held.state
    name = loop.sealed.loop
    held.scribe.append(e.LoopDropped(note="dropped by the user"))
    remove_loop(
        held.store.project,
        name,
        paths=(os.path.join(state.workspaces, name),),
        branch=loop.landing.branch if loop.landing.result else None,
        result=loop.landing.result or None,
    )
    for suffix in (".md", ".json"):
        remove_tree(os.path.join(state.reports, name + suffix))
    remove_tree(os.path.join(state.logs, name + ".log"))
    folder = loop_folder(state, name)
    give_back(os.path.join(folder, "own"), SystemClock().now(), whole=True)
    for part in os.listdir(folder):
        if part != "lock":  # held by us; an empty folder with a free lock is what remains
            remove_tree(os.path.join(folder, part))
