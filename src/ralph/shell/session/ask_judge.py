"""The judge of a session's work, where the settings seat one: asked of a tree that passed everything else."""

from __future__ import annotations

from ralph.core.model.actions import AskJudge
from ralph.core.session.answer_stop import hear_judge, judged_exit
from ralph.core.session.record import Session
from ralph.shell.agent_call.judge_call import Asker
from ralph.shell.git.checkout import Submodule
from ralph.shell.ports import Quiet
from ralph.shell.sandbox.site import Site
from ralph.shell.session.question import Question


def ask_judge(question: Question, site: Site, modules: tuple[Submodule, ...]) -> Session:
    """Ask, or take up the call of a process that is gone; its opinion is recorded, and is no gate's."""
    session, asker = question.session, Asker(site, modules)
    ask = hear_judge(session.loop, judged_exit(session.loop))
    assert isinstance(ask, AskJudge)
    if not session.loop.jury.open:
        session = question.add(asker.open(session.loop, ask))
        if not question.is_open(session):
            return session
    ended = asker.finish(session.loop, ask, question.is_dropped, Quiet())
    return question.read() if ended is None else question.add(ended)
