"""The hands of a runner: each action of the core done for real, and safe to do again.

"Did it happen already?" is asked here: a workspace that is complete is left alone, a call's folder
tells what became of it, commits are deterministic and refs move by compare-and-swap, so doing one
twice gives the same ids. What to do, and when, is the core's; the parts are in `workspace`,
`snapshot`, `call`, `judge` and `run_guards`.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from ralph import __version__
from ralph.clock import Clock
from ralph.core.decide import failover
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import DONE, RESUMABLE
from ralph.core.model.verdict import Checkpoint, Reading, Stage, Verdict
from ralph.core.proof.causes import sort_answers
from ralph.core.text.clean import one_line
from ralph.shell.agent_call import reach
from ralph.shell.agent_call.call import Caller
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.answers import Heard
from ralph.shell.gate_run.run_guards import run_guards
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.refs import (
    RefChange,
    commit_tree,
    find_published_result,
    keep_rejected,
    make_checkpoint,
    move_refs,
    publish_result,
)
from ralph.shell.git.snapshot import take_snapshot
from ralph.shell.git.workspace import Workspace, make_workspace, restore_workspace
from ralph.shell.ports import Activity, Attention, Watcher
from ralph.shell.prompts import build
from ralph.shell.prompts.sources import PromptFiles
from ralph.shell.run.task_desk import TaskDesk
from ralph.shell.sandbox.bubblewrap import SharedMount
from ralph.shell.sandbox.own_copy import give_back
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs
from ralph.shell.state.directory import refuse_full_disk

if TYPE_CHECKING:  # made when a loop has a plan or a judge: others start without them
    from ralph.shell.agent_call.beside.role_call import RoleCalls
    from ralph.shell.agent_call.judge_call import Asker
    from ralph.shell.agent_call.plan_readers import Readers
    from ralph.shell.plan.per_call import PlanDesk

POLL_SECONDS = 0.2
MAX_PATHS = 20  # changed files that a checkpoint names


class RealPerformer:
    def __init__(self, site: Site, clock: Clock, min_free: int, watcher: Watcher, newest: Checkpoint) -> None:
        self.site, self._newest = site, newest
        self._clock, self._watcher, self._min_free = clock, watcher, min_free
        self._callers: dict[tuple[int, str, str], Caller] = {}
        self._files = PromptFiles(site.store, site.state.blobs)

    @cached_property
    def workspace(self) -> Workspace:
        """Made on first use in a stint; a complete one is found, not made."""
        site, order = self.site, self.site.order
        return make_workspace(
            site.store,
            site.workspace,
            os.path.join(site.folder, "git"),
            order.base.commit,
            alternates=site.objects_at,
            history=order.box.history,
            newest=self._newest,
        )

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.site, self.workspace.modules)

    @cached_property
    def desk(self) -> PlanDesk | TaskDesk:
        if not self.site.order.brief:
            return TaskDesk()
        from ralph.shell.plan.per_call import PlanDesk

        return PlanDesk(self.judge, self.workspace)

    def opening(self) -> e.StintStarted:
        return e.StintStarted(
            pid=os.getpid(),
            host=os.uname().nodename,
            version=__version__,
            protection=self.site.level,
            words=self.site.words,
            hosted=self.site.hosted,
        )

    def make_workspace(self, loop: Loop, action: actions.MakeWorkspace) -> e.WorkspaceMade:  # noqa: ARG002
        refuse_full_disk(self.site.state, self._min_free)
        order = self.site.order
        notes = (f"dependencies are built by: {one_line(order.box.setup, 200)}",) if order.box.setup else ()
        return e.WorkspaceMade(path=self.workspace.path, shares=order.box.share, notes=notes)

    def run_gates(
        self, loop: Loop, action: actions.RunGates, attend: Attention
    ) -> Generator[e.GateEnded | e.NoVerdict, None, None]:
        refuse_full_disk(self.site.state, self._min_free)
        tree, stage = action.tree, action.stage
        gates = tuple(self.site.order.criterion.gate(name) for name in action.gates)
        settled = loop.proof.doubted_tree == tree
        kind = "final" if action.fresh else stage
        if stage != "baseline":
            self.judge.omissions.allow_old_red(loop, tree, self.judge.base_reading)
        verdicts = self.judge.judge(gates, tree, kind, loop.proof.baseline, attend, settled=settled)
        for verdict, answered in sort_answers(verdicts, settled=settled):
            if answered:
                shares = self.judge.found.get(verdict.gate, ()) if stage == "baseline" else ()
                yield e.GateEnded(iteration=loop.iteration, verdict=_steady(loop, verdict), shares=shares)
                continue
            yield _no_verdict(loop, stage, tree, verdict.gate, verdict, verdict.evidence)

    def run_guards(
        self, loop: Loop, action: actions.RunGuards, attend: Attention
    ) -> e.GuardsEnded | e.NoVerdict | None:
        results = run_guards(self.judge, loop, action.tree, attend)
        if results is None:
            return None
        if isinstance(results, Heard):
            seen = replace(results.reading, summary=one_line(results.reading.summary, 400))
            return _no_verdict(loop, "guards", action.tree, results.call.gate.name, seen, results.evidence)
        return e.GuardsEnded(
            iteration=loop.iteration, tree=action.tree, results=results, disagreement=_disagreement(loop)
        )

    def open_call(self, loop: Loop, action: actions.RunAgent) -> e.AgentStarted:
        refuse_full_disk(self.site.state, self._min_free)
        purpose, item, tree = self.desk.ready(loop)
        text = build.call_prompt(loop, self._files)
        return e.AgentStarted(
            iteration=action.iteration,
            call=action.call,
            agent=failover.with_agent(self.site.order, action.agent, loop.build.mode).agent.name,
            prompt=blobs.put(self.site.state.blobs, text.encode()),
            using=action.agent,
            why=one_line(loop.agents.failover_reason, 400) if action.agent else "",
            purpose=purpose,
            item=item,
            tree=tree,
        )

    def finish_call(self, loop: Loop, action: actions.RunAgent, attend: Attention) -> e.AgentEnded | None:
        prompt = blobs.get(self.site.state.blobs, loop.call.prompt)
        shares = self._shares(loop, attend)
        order = failover.with_agent(self.site.order, action.agent, loop.build.mode)
        who = (action.agent, order.agent.name, order.agent.model)
        if who not in self._callers:
            self._callers[who] = Caller(self.site, order)
        ended = self._callers[who].finish(loop, action, prompt, shares, attend, self._watcher)
        return self.desk.add_indication(loop, ended, prompt.decode())

    def _shares(self, loop: Loop, attend: Attention) -> tuple[SharedMount, ...]:
        found = self.judge.deps.shares(loop.work.tree, attend)
        return found if isinstance(found, tuple) else ()  # without them it can still mend a lockfile

    @cached_property
    def asker(self) -> Asker:
        from ralph.shell.agent_call.judge_call import Asker

        return Asker(self.site, self.workspace.modules)

    def open_judge(self, loop: Loop, action: actions.AskJudge) -> e.JudgeStarted:
        refuse_full_disk(self.site.state, self._min_free)
        return self.asker.open(loop, action)

    def finish_judge(self, loop: Loop, action: actions.AskJudge, attend: Attention) -> e.JudgeEnded | None:
        return self.asker.finish(loop, action, attend, self._watcher)

    @cached_property
    def roles(self) -> RoleCalls:
        from ralph.shell.agent_call.beside.role_call import RoleCalls

        return RoleCalls(self.site, self.workspace.modules)

    def open_role(self, loop: Loop, action: actions.RunRole) -> e.RoleStarted:
        refuse_full_disk(self.site.state, self._min_free)
        return self.roles.open(loop, action)

    def finish_role(self, loop: Loop, action: actions.RunRole, attend: Attention) -> e.RoleEnded | None:
        return self.roles.finish(loop, action, self._shares(loop, attend), attend, self._watcher)

    def take_snapshot(self, loop: Loop, action: actions.TakeSnapshot) -> e.CheckpointMade:
        site, order, workspace = self.site, self.site.order, self.workspace
        found = take_snapshot(
            site.store,
            workspace.path,
            workspace.index,
            loop.work.tree_before,
            links=workspace.links,
            shared=loop.sealed.box.share,
        )
        found, read = self.desk.after(loop, found)
        commit = loop.work.commit
        # A call that failed and left nothing is made again under the same number, which must still be free.
        failed = loop.call.fault is not None and found.tree == loop.work.tree_before
        if found.tree != loop.work.tree and not failed:
            title = f"ralph: iteration {action.iteration} of {order.loop}"
            commit = make_checkpoint(
                site.store,
                order.loop,
                action.iteration,
                tree=found.tree,
                parent=loop.work.commit,
                message=title,
                date=int(loop.last_work_at),
            )
        whole = self._files.changes(order.base.tree, found.tree)
        return e.CheckpointMade(
            iteration=action.iteration,
            tree=found.tree,
            commit=commit,
            files=found.files_changed,
            added=found.added,
            removed=found.removed,
            total_lines=sum((one.added or 0) + (one.removed or 0) for one in whole),
            paths=tuple(one_line(change.path, 200) for change in found.changes[:MAX_PATHS]),
            warnings=tuple(one_line(warning, 300) for warning in found.warnings[:20]),
            left_out=tuple(one_line(words, 300) for words in found.left_out[:MAX_PATHS]),
            plan=read,
        )

    def restore(self, loop: Loop, action: actions.RestoreWorkspace) -> e.WorkspaceRestored:
        site, order = self.site, self.site.order
        kept = ""
        if action.rejected is not None:
            number = action.rejected.iteration
            kept = keep_rejected(
                site.store,
                order.loop,
                number,
                tree=action.rejected.tree,
                parent=order.base.commit,
                message=f"ralph: rejected work of iteration {number}",
                date=int(loop.last_work_at),
            )
        restore_workspace(self.workspace, action.to.tree, action.to.commit)
        return e.WorkspaceRestored(iteration=loop.iteration, tree=action.to.tree, rejected=kept)

    def wait(self, loop: Loop, action: actions.Wait, attend: Attention) -> e.WaitOver | None:  # noqa: ARG002
        """Until the named time by the wall clock, or the seconds by the steady one: whichever comes first.

        A suspend lets the wall clock run on, a jump of it back cannot prolong the wait.
        """
        clock = self._clock
        if action.probe:
            return reach.wait_until_reachable(action, clock, attend)
        began = clock.monotonic()
        while True:
            waited = clock.monotonic() - began
            left = action.seconds - waited
            if action.until is not None:
                left = min(left, action.until - clock.now())
            if left <= 0:
                return e.WaitOver()
            if attend(Activity("wait", (action.why,), waited, left_seconds=left)):
                return None
            clock.sleep(min(POLL_SECONDS, left))

    def publish(self, loop: Loop, action: actions.PublishResult) -> e.ResultPublished:
        site, order = self.site, self.site.order
        commit = self._find_published(action.tree)
        if commit is None or commit == loop.landing.result:  # published before, with what was proven then
            message = build.result_message(loop, action)
            commit = commit_tree(
                site.store, action.tree, [order.base.commit], message, int(loop.last_work_at)
            )
            publish_result(site.store.project, order.branch, commit, loop.landing.result or None)
        return e.ResultPublished(branch=order.branch, commit=commit, tree=action.tree)

    @cached_property
    def readers(self) -> Readers:
        from ralph.shell.agent_call.plan_readers import Readers

        return Readers(self.site, self.workspace.modules, self._files)

    def open_readers(self, loop: Loop, action: actions.RunReaders) -> e.ReadersStarted:
        refuse_full_disk(self.site.state, self._min_free)
        return self.readers.open(loop, action)

    def finish_readers(
        self, loop: Loop, action: actions.RunReaders, attend: Attention
    ) -> e.ReadersEnded | None:
        return self.readers.finish(loop, action, attend)

    def tie_tests(self, loop: Loop, action: actions.TieTests) -> e.TestsTied:
        return e.TestsTied(tree=action.tree, ties=self.desk.ties(loop, action.tree))

    def publish_item(self, loop: Loop, action: actions.PublishItem) -> e.ItemPublished:
        """One commit a verified item, on top of the ones before it."""
        site, order = self.site, self.site.order
        parent = loop.landing.result or order.base.commit
        commit = find_published_result(site.store.project, order.branch, order.loop, action.tree, parent)
        if commit is None:
            from ralph.shell.plan.item_message import item_message

            message = item_message(loop, action)
            commit = commit_tree(site.store, action.tree, [parent], message, int(loop.last_work_at))
            publish_result(site.store.project, order.branch, commit, loop.landing.result or None)
        return e.ItemPublished(item=action.item, branch=order.branch, commit=commit, tree=action.tree)

    def _find_published(self, tree: str) -> str | None:
        order = self.site.order
        return find_published_result(
            self.site.store.project, order.branch, order.loop, tree, order.base.commit
        )

    def finish(self, loop: Loop, action: actions.Finish) -> e.LoopEnded:
        """What only the loop itself needed goes; workspace, refs and evidence stay until dropped."""
        lost = loop.grade is not None and not loop.has_plan and not loop.landing.result
        if lost and action.outcome not in DONE:
            # Aborted before its result was recorded: a runner that was killed may have published it.
            commit = self._find_published(loop.work.tree)
            if commit is not None:
                move_refs(
                    self.site.store.project, [RefChange(f"refs/heads/{loop.landing.branch}", None, commit)]
                )
        whole = action.outcome not in RESUMABLE
        give_back(os.path.join(self.site.folder, "own"), self.site.clock.now(), whole=whole)
        began = self.site.clock.monotonic()
        for part in ("checkouts", "gates", "deps"):
            # Checkouts of a large repository take minutes: whoever stops the loop need not wait for them.
            remove_tree(os.path.join(self.site.folder, part), lambda: self._look_up(began))
        return e.LoopEnded(outcome=action.outcome, reason=action.reason, grade=action.grade)

    def _look_up(self, began: float) -> None:
        """As while a git is at work, in what takes as long without one."""
        if (heed := self.site.store.project.git.heed) is not None:
            heed("(removing checkouts)", self.site.clock.monotonic() - began)


def _no_verdict(
    loop: Loop, stage: Stage | Literal["guards"], tree: str, gate: str, seen: Verdict | Reading, evidence: str
) -> e.NoVerdict:
    return e.NoVerdict(
        iteration=loop.iteration,
        stage=stage,
        tree=tree,
        gate=gate,
        cause=seen.cause,
        why=seen.summary,
        doubt=seen.doubt,
        evidence=evidence,
    )


def _steady(loop: Loop, verdict: Verdict) -> Verdict:
    """Red in the fresh checkout after green in the incremental one is flaky, and named so."""
    before = loop.proof.verdicts.get(verdict.gate)
    if verdict.stage != "final" or verdict.status != "fail" or before is None or before.tree != verdict.tree:
        return verdict
    if before.status != "pass":
        return verdict
    return replace(verdict, status="flaky", summary=f"green once and red once on one tree: {verdict.summary}")


def _disagreement(loop: Loop) -> str:
    """The two kinds of checkout must say the same of one tree; if not, the fault is ours and is recorded."""
    names = [
        name
        for name, verdict in loop.proof.finals.items()
        if (fast := loop.proof.verdicts.get(name)) is not None
        if fast.stage == "fast" and fast.status != verdict.status
    ]
    return f"incremental and fresh checkout disagree: {', '.join(names)}" if names else ""
