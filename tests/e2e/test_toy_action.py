"""How many files a new action and its event touch: one of each is added to a copy of Ralph, and driven."""

import os
import shutil
from pathlib import Path

import kit
import pytest

import ralph

SOURCE = Path(ralph.__file__).parent
# A line of the file -> what is put before it.
Edits = dict[str, dict[str, str]]
ACTION: Edits = {
    "core/model/actions.py": {
        "class ActionRow(": "class Greet(Action, frozen=True):\n    whom: str\n\n\n",
        "    MakeWorkspace: ": '    Greet: ActionRow("greet"),\n',
    },
    "shell/run/performer.py": {
        "    def make_workspace(": (
            "    def greet(self, loop: Loop, action: actions.Greet) -> e.Greeted:\n"
            '        return e.Greeted(words=f"hello {action.whom} of {loop.sealed.loop}")\n\n'
        ),
    },
    "core/decide/on_event.py": {  # whoever owes it, with the handler of its event
        "def workspace_made(": (
            "def greeted(loop: Loop, event: Event) -> Loop:\n    return on_baseline.take_baseline(loop)\n\n\n"
        ),
        "    return on_baseline.take_baseline(loop.with_work(workspace=event.path))": (
            "    from ralph.core.model.actions import Greet\n\n"
            '    return replace(loop.with_work(workspace=event.path), todo=(Greet("world"),))\n'
        ),
    },
}
EVENT: Edits = {
    "core/model/events.py": {
        "class WorkspaceMade(": 'class Greeted(Event, frozen=True, tag="Greeted"):\n    words: str\n\n\n',
    },
    "core/decide/machine.py": {
        "    e.WorkspaceMade: ": (
            '    e.Greeted: EventRow("loop", "greeting", '
            '{"baseline": Transition(h.greeted, ("baseline",))}),\n'
        ),
    },
}


def edit(package: Path, edits: Edits) -> None:
    for name, places in edits.items():
        text = (package / name).read_text()
        for line, added in places.items():
            assert text.count(f"\n{line}") == 1, f"{name} has no line that begins: {line}"
            text = text.replace(f"\n{line}", f"\n{added}{line}")
        (package / name).write_text(text)


@pytest.mark.slow
def test_a_new_action_touches_three_files_and_its_event_two_more(tmp_path, place):
    """The loop owes it, the performer does it, the journal keeps it, the screen and the log tell it."""
    assert len(ACTION) <= 3
    package = tmp_path / "copy" / "ralph"
    shutil.copytree(SOURCE, package)  # with its byte code, which is as old; what is edited is compiled anew
    edit(package, ACTION)
    edit(package, EVENT)
    env: dict[str, str | None] = {"PYTHONPATH": os.fspath(package.parent)}
    done = place.start(*place.loop_words(kit.agent("honest_steps"), "--confirm", "1"), env=env)
    assert done.process.wait(60) == 0, done.err.read_text()
    assert "greeting     words hello world of make-the-tests-pass" in done.err.read_text()
    logs = place.ralph("logs", "--kind", "loop", env=env, cwd=place.repo)
    told = [line for line in logs.out.splitlines() if "Greeted" in line]
    assert len(told) == 1, logs.text
    assert "words hello world" in told[0]
