"""What the displays print: exact text, safe text, and nothing that can stop a loop."""

# ruff: noqa: E501, RUF001 (screens are given as they are)

import io
import json
import os
import pty
import re
import threading

import making
import pytest
from making import Maker, order
from msgspec.structs import replace

from ralph.agents import Claimed, Denied, Said, Spent, ToolUsed
from ralph.app.words.change import ChangeSize
from ralph.app.words.ending import ending, headline
from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, Fault
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits
from ralph.core.model.verdict import GuardResult
from ralph.errors import UserError
from ralph.shell.ports import Activity
from ralph.ui.display import make_watcher
from ralph.ui.display.live import Live
from ralph.ui.display.plain import Plain
from ralph.ui.display.stint_words import fact_words

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u202e"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def play(maker, mode="plain", as_json=False, env=None, stderr=None):
    """Show a whole loop as the runner would; (stdout, stderr)."""
    out, err = io.StringIO(), stderr or io.StringIO()
    loop = Loop()
    with make_watcher(mode, as_json=as_json, stdout=out, stderr=err, env=env or {}, number=7) as watcher:
        for seq, event in enumerate(maker.events, 1):
            loop = decide(loop, event)
            watcher.event(seq, event, loop)
            if isinstance(event, e.StintStarted):
                watcher.begin(loop, event.words)
        watcher.finish(loop)
    return out.getvalue(), err.getvalue()


PLAIN = """\
#7 fix-auth  fix the failing auth tests
command · 2 checks · sandboxed (S2) · max 15 iterations
22:13:22  workspace    /state/workspaces/fix-auth
22:13:34  gate         baseline  tests  fail  1 failed  tree 0000000  12s  evidence 4af1c2d3
22:13:36  gate         baseline  lint  pass  clean  tree 0000000  12s  evidence 4af1c2d3
22:13:37  agent        it 1  call 1  agent command  prompt 77e0aa11
22:15:25  agent ended  it 1  exited 0  1:48  5,120 tokens  $0.31  claim COMPLETE  “did it”
22:15:26  checkpoint   it 1  tree 1111111  commit 8888888  +31 −4 in 2 files
22:15:38  gate         it 1  tests  fail  1 failed  tree 1111111  12s  evidence 4af1c2d3
22:15:40  gate         it 1  lint  pass  clean  tree 1111111  12s  evidence 4af1c2d3
✘ it 1/15  +31 −4 in 2 files  tests 1 red  lint ✔  1:48  $0.31  said done: refused
          not yet      tests: 1 red: test_refresh_rotates
22:15:41  agent        it 2  call 2  agent command  prompt 77e0aa11
22:17:29  agent ended  it 2  exited 0  1:48  5,120 tokens  $0.31  claim COMPLETE  “did it”
22:17:30  checkpoint   it 2  tree 2222222  commit 7777777  +31 −4 in 2 files
22:17:42  gate         it 2  tests  pass  214 passed  tree 2222222  12s  evidence 4af1c2d3
22:17:44  gate         it 2  lint  pass  clean  tree 2222222  12s  evidence 4af1c2d3
22:17:56  gate         it 2  tests  pass  214 passed  tree 2222222  12s  fresh checkout  evidence 4af1c2d3
22:17:58  gate         it 2  lint  pass  clean  tree 2222222  12s  fresh checkout  evidence 4af1c2d3
22:18:03  guards       it 2  1 ok
22:18:04  result       branch ralph/fix-auth-7f3a91c2  commit ccccccc  tree 2222222
✔ it 2/15  +31 −4 in 2 files  tests ✔  lint ✔  1:48  $0.31
22:18:04  ended        verified (A): every check passed on this tree
"""
VERIFIED = """\
✔ VERIFIED  #7 fix-auth  grade A: red before, green
  2 iterations · 4:44 · $0.62 · 70 lines changed
  ✔ tests  1 failed → 214 passed
  ✔ lint   clean
  Status: VERIFIED_DONE (A) sandbox S2 · tree 2222222 · fix-auth-7f3a91c2

  ralph diff 7     see the change
  ralph merge 7    take it into your branch
  ralph discard 7  throw it away
  ralph report 7   the whole story
"""
EXHAUSTED = """\
✘ EXHAUSTED  #7 fix-auth
  2 iterations · 4:24 · cost unknown · 70 lines changed
  ✘ tests  1 failed
  ✔ lint   clean
  why      2 of 2 iterations used
  not yet  tests: 1 red: test_refresh_rotates
  best     the starting commit; no iteration improved on it (1 of 2 required checks ok, 1 red)
  Status: EXHAUSTED sandbox S2 · tree 2222222 · fix-auth-7f3a91c2

  ralph resume 7 --max-iterations +5  continue
  ralph diff 7                        see the change
  ralph report 7                      the whole story
  ralph discard 7                     throw it away
"""


def test_plain_progress_and_result():
    """Progress is one stamped line an event and one footer an iteration on stderr; the result is on
    stdout."""
    out, err = play(making.verified())
    assert err == PLAIN
    assert out == VERIFIED


def test_not_verified_ending():
    """An unverified end says why, what is missing, the best checkpoint, and how to go on; cost stays
    unknown."""
    out, _ = play(making.exhausted())
    assert out == EXHAUSTED


def test_headline_with_measured_change():
    """The headline names files and lines when git could tell them."""
    line = headline(making.verified().loop, ChangeSize(9, 212, 40))
    assert line.endswith("2 iterations · 4:44 · $0.62 · +212 −40 in 9 files · tree 2222222")


def test_cost_of_some_calls_unknown():
    """A call that told no cost is never counted as free."""
    maker = Maker(order(limits=Limits(iterations=2))).begin().failing(cost=0.5).failing(cost=None).finish()
    assert "$0.50 + 1 call of unknown cost" in headline(maker.loop)


def test_already_satisfied():
    """A proof that was green at once leaves nothing to do and nothing to land; what else is red is named."""
    maker = Maker().begin(tests="pass", lint="fail").finish()
    text = "\n".join(ending(maker.loop))
    assert text.startswith("✔ NOTHING TO DO  fix-auth-7f3a91c2\n")
    assert "Status: NOTHING_TO_DO sandbox S2" in text
    assert "no agent call · 0:16 · $0.00" in text
    assert "tests was green before any agent call; failing, but not part of this task: lint" in text
    assert "newly red" not in text
    assert "ralph merge" not in text


def test_old_red_stands_in_the_headline():
    """Red that was there before is named beside VERIFIED_DONE."""
    maker = Maker().begin(lint="fail")
    maker.call().gates("fast", "pass", "fail", new_red_count=0).gates("final", "pass", "fail")
    looked = GuardResult("junk", maker.loop.work.tree, applied=True, summary="nothing")
    maker.add(e.GuardsEnded(iteration=1, tree=maker.loop.work.tree, results=(looked,)))
    maker.add(e.ResultPublished(branch="ralph/x", commit="c" * 40, tree=maker.loop.work.tree)).finish()
    assert maker.loop.outcome == "verified"
    assert headline(maker.loop).endswith("red as before: lint")
    assert "not proven  lint was red before this loop" in "\n".join(ending(maker.loop))


def test_fault_has_its_own_line():
    """A call that failed by the machinery is marked as a fault, and waiting is said."""
    fault = Fault(kind="overload", message="try later")
    maker = Maker().begin().call(changed=False, claim=None, cost=None, fault=fault)
    _, err = play(maker)
    assert "! it 1/15  no change  fault overload: try later  1:48  cost unknown" in err
    assert "waiting      overload: try later" in err


def test_paused_and_resumed_screens():
    """A paused loop offers to go on; the header of a resumed one says where it stands."""
    maker = Maker().begin().failing()
    maker.add(e.PauseAsked(reason="lunch", now=True))
    out, err = play(maker)
    assert out.startswith("‖ PAUSED  #7 fix-auth\n")
    assert "ralph resume 7  continue" in out
    maker.add(e.ResumeAsked(author="me")).add(
        e.StintStarted(pid=8, host="box", version="0.1.0", protection="S1", words=("no box",))
    )
    _, err = play(maker)
    resumed = err.rpartition("#7 fix-auth  ")[2].splitlines()
    assert resumed[:2] == [
        "resumed at iteration 2 · after 1 call · working · 2:22 used · $0.31",
        "no sandbox: no box; apt install bubblewrap (ralph help sandbox)",
    ]


@pytest.mark.parametrize("mode", ["plain", "live", "json", "none"])
def test_escapes_are_inert(mode):
    """Nothing that a task, a gate, an agent or a fault says reaches the terminal as a sequence or a
    secret."""
    secret = "sk-" + "a" * 30
    made = order(task=f"{ESCAPE} {secret}", agent=f"x{ESCAPE}", warnings=(ESCAPE,))
    maker = Maker(made).begin()
    maker.call(said=f"{ESCAPE} {secret}", fault=Fault(kind="crash", message=ESCAPE))
    maker.gates("fast", "fail", "pass", summary=ESCAPE, signature=ESCAPE)
    maker.add(e.Steered(text=ESCAPE, author=ESCAPE))
    out, err = play(maker, "auto" if mode == "json" else mode, as_json=mode == "json")
    shown = out + err
    assert "owned" not in shown
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert "\\u001b" not in shown
    assert "\u202e" not in shown
    assert secret not in shown


def test_json_lines_are_the_journal():
    """--json prints one versioned line for each event and nothing else on stdout."""
    maker = making.verified()
    out, err = play(maker, as_json=True)
    lines = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    assert [line["seq"] for line in lines] == list(range(1, len(maker.events) + 1))
    assert [line["kind"] for line in lines] == [e.kind_of(event) for event in maker.events]
    assert all(list(line) == ["v", "seq", "loop", "at", "kind", "body"] for line in lines)
    assert lines[0]["at"] == "2023-11-14T22:13:20.000Z"
    assert lines[0]["body"]["order"]["limits"]["iterations"] == 15  # defaults are spelled out
    assert lines[-1]["body"] == {
        "took": 0.1,
        "outcome": "verified",
        "reason": lines[-1]["body"]["reason"],
        "grade": "A",
    }


def test_none_shows_only_the_result():
    """--display none is silent until the result."""
    out, err = play(making.verified(), "none")
    assert (out, err) == (VERIFIED, "")


def test_choice_of_display():
    """auto is live on a terminal and plain elsewhere; --json and dumb terminals turn the live view off."""

    def kind(mode="auto", *, tty=True, as_json=False, term="xterm"):
        stderr = Terminal() if tty else io.StringIO()
        made = make_watcher(mode, as_json=as_json, stdout=io.StringIO(), stderr=stderr, env={"TERM": term})
        return type(made).__name__

    assert kind() == "Live"
    assert kind(tty=False) == "Plain"
    assert kind(term="dumb") == "Plain"
    assert kind("plain") == "Plain"
    assert kind("none") == "Silent"
    assert kind(as_json=True) == "JsonLines"
    with pytest.raises(UserError, match="expected one of auto, live, plain, none"):
        kind("fancy")


def test_broken_pipe_never_reaches_the_runner():
    """A closed stdout or stderr stops no display."""

    class Closed(io.StringIO):
        def write(self, _):
            raise BrokenPipeError

    for mode, as_json in (("plain", False), ("none", False), ("live", False), ("plain", True)):
        with make_watcher(mode, as_json=as_json, stdout=Closed(), stderr=Closed(), env={}) as watcher:
            maker = making.verified()
            watcher.begin(maker.loop, ())
            watcher.event(1, maker.events[0], maker.loop)
            watcher.note("x")
            watcher.tick(maker.loop, Activity("agent", (), 61.0))
            watcher.finish(maker.loop)


def test_plain_says_that_it_still_goes_on():
    """A long silence in plain mode is broken once a minute, with the age of the last output."""
    err = io.StringIO()
    plain = Plain(io.StringIO(), err, {})
    maker = Maker().begin()
    for second in range(0, 130, 10):
        plain.tick(maker.loop, Activity("agent", (), float(second), quiet_seconds=5.0))
    assert err.getvalue().splitlines() == [
        "                       agent working 1:00 (last output 5s ago)",
        "                       agent working 2:00 (last output 5s ago)",
    ]


def screen(width, activity, facts=(), env=None, limits=None, height=40, keys=None):
    err, at = Terminal(), StoppedClock()
    shape = {"TERM": "xterm", "COLUMNS": str(width), "LINES": str(height)}
    live = Live(io.StringIO(), err, {**shape, **(env or {})}, 7, at)
    maker = Maker(order(limits=limits or Limits(cost=5.0, time=14400.0))).begin().failing()
    maker.add(e.AgentStarted(iteration=2, call=2, agent="command", prompt="a" * 64))
    at.wall = maker.loop.now + activity.seconds
    live.hear(facts)
    live._activity, live.keys = activity, keys or live.keys
    with live.console.capture() as shown:
        live.console.print(live.screen(maker.loop))
    return shown.get()


class StoppedClock:
    wall = 0.0

    def now(self):
        return self.wall


def plainly(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("height", [16, 20, 24, 40])
@pytest.mark.parametrize("width", [40, 60, 80, 119, 120, 200])
def test_live_fits_every_size(width, height):
    """The live view never writes past the edge, down to 40 columns, and keeps its labels and its facts."""
    facts = (ToolUsed("Edit", "src/" + "deep/" * 30 + "x.py", "", 31, 4), *[Said("word " * 60)] * 9)
    shown = plainly(screen(width, Activity("agent", (), 108.0, 100, 2.0), facts, height=height))
    assert max(len(line) for line in shown.splitlines()) <= width
    assert len(shown.splitlines()) <= height
    for words in (
        "▶ 2 of 15",
        "agent working 1:48",
        "checks ",
        "tests ✘ 1 red",
        "lint",
        "spend ",
        "missing",
        "2/15 █░░",
    ):
        assert words in shown
    beside = [
        line for line in shown.splitlines() if "word word" in line and ("spend" in line or "lint" in line)
    ]
    assert bool(beside) == (width >= 120)


def test_live_view_at_80_columns():
    """The whole view, word for word: what goes on, checks, spend against limits, what is missing, keys."""
    facts = (ToolUsed("read", "auth.py", ""), Said("the old token must be revoked"))
    keys = ("p pause  s note  d diff  l log  q stop after this iteration  ^C^C now  ? help",)
    shown = plainly(screen(80, Activity("agent", (), 17.0, 100, 2.0), facts, height=24, keys=keys))
    assert [line.rstrip() for line in shown.splitlines()] == [
        "─" * 80,
        "▶ 2 of 15  agent working 0:17 (last output 2s ago)",
        "   read  auth.py",
        "   “the old token must be revoked”",
        "",
        " checks   tests ✘ 1 red  test_refresh_rotates",
        "          lint  ✔ clean  12s",
        " spend    2/15 █░░░░░░░░░  $0.31/5.00 ░░░░░░░░░░  2:38/4:00:00",
        " missing  tests green · final proof",
        "─" * 80,
        " p pause  s note  d diff  l log  q stop after this iteration  ^C^C now  ? help",
    ]


def test_time_is_not_counted_twice_after_a_note():
    """A note in the middle of a call is an event too; the time of the call goes on from it."""
    live = Live(
        io.StringIO(), Terminal(), {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}, 7, StoppedClock()
    )
    maker = Maker().begin().failing()
    maker.add(e.AgentStarted(iteration=2, call=2, agent="command", prompt="a" * 64))
    spent = maker.loop.elapsed_seconds
    maker.add(e.Steered(text="mind the gap"), took=60.0)
    live._clock.wall = maker.loop.now + 30.0
    live._activity = Activity("agent", (), 90.0)
    with live.console.capture() as shown:
        live.console.print(live.screen(maker.loop))
    minutes, seconds = divmod(int(spent + 90.0), 60)
    assert f"{minutes}:{seconds:02}" in plainly(shown.get())


def test_final_proof_shows_its_parts():
    """While the result is put to the proof the view says which part of it goes on, and how much is to come."""
    doing = Activity("gate", ("tests",), 5.0, stages=("canary", "sabotage-1"), waiting=3)
    shown = plainly(screen(120, doing))
    assert (
        "final proof 0:05: planted failures must be noticed, the change broken on purpose · 3 to go" in shown
    )


def test_live_quiet_agent_turns_amber():
    """A minute without output changes the colour of its age."""
    amber = "\x1b[33m"
    assert amber not in screen(60, Activity("agent", (), 108.0, 100, 59.0))
    assert amber in screen(60, Activity("agent", (), 108.0, 100, 61.0)).replace("\x1b[1;33m", amber)


def test_live_no_color():
    """NO_COLOR leaves no colour at all in the live view."""
    shown = screen(100, Activity("agent", (), 108.0, 100, 61.0), env={"NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", shown)


def test_live_names_no_key_without_a_keyboard():
    """Where no keys are read, only ctrl-c is named."""
    shown = plainly(screen(119, Activity("gate", ("tests",), 3.0)))
    assert shown.splitlines()[-1].strip() == "ctrl-c stops after this iteration, twice: now"
    assert "checking tests 0:03" in shown


def test_live_on_a_real_terminal():
    """On a terminal, finished iterations stay as one line each, the cursor stays visible, and a bell ends
    it."""
    master, slave = pty.openpty()
    shown = bytearray()
    reader = threading.Thread(target=_drain, args=(master, shown))
    reader.start()
    with os.fdopen(slave, "w", encoding="utf-8") as terminal:
        out, _ = play(
            making.verified(), "auto", env={"TERM": "xterm", "COLUMNS": "100"}, stderr=_Shim(terminal)
        )
    reader.join()
    os.close(master)
    text = plainly(shown.decode())
    assert "✘ 1  +31 −4 in 2 files" in text
    assert "✔ 2  +31 −4 in 2 files" in text
    assert text.rstrip("\r\n").endswith("\a")
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l")
    assert out == VERIFIED


def _drain(fd, into):
    """A terminal holds a few kilobytes: somebody must read while it is written to."""
    while True:
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            return
        into += chunk


class _Shim:
    """A terminal whose text can be asked for like that of a StringIO."""

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def getvalue(self):
        return ""


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (Said("hello\nthere"), "“hello there”"),
        (ToolUsed("Bash", "", "pytest -q"), "Bash  pytest -q"),
        (Spent(tokens=5), ""),
        (Denied("rm -rf"), "denied rm -rf"),
        (Claimed(Claim(status="BLOCKED")), "claims BLOCKED"),
    ],
)
def test_facts_in_words(fact, words):
    """Each fact of an agent is one line; what is only counted is none."""
    assert fact_words(fact) == words


def test_narrow_ending_folds_at_its_joints():
    """In 40 columns the card breaks between its parts, never inside one."""
    lines = ending(making.verified().loop, number=7, width=40)
    assert lines[:4] == [
        "✔ VERIFIED  #7 fix-auth",
        "  grade A: red before, green",
        "  2 iterations · 4:44 · $0.62",
        "  70 lines changed",
    ]


def test_next_commands_stand_two_on_a_line_where_there_is_room():
    """On a wide terminal the card has the next commands in two columns."""
    assert ending(making.verified().loop, number=7, width=120)[-2:] == [
        "  ralph diff 7     see the change             ralph discard 7  throw it away",
        "  ralph merge 7    take it into your branch   ralph report 7   the whole story",
    ]


def test_colour_of_the_title():
    """The title is green, red or amber where colour is wanted, and plain otherwise."""
    assert ending(making.verified().loop, colour=True)[0].startswith("\x1b[32m✔ VERIFIED")
    assert ending(making.exhausted().loop, colour=True)[0].startswith("\x1b[31m✘ EXHAUSTED")
    assert "\x1b" not in "".join(ending(making.verified().loop))


def test_unlimited_iterations_are_shown_as_such():
    """A loop without a bound on iterations shows no invented one."""
    maker = Maker(order(limits=Limits(iterations=None, time=60.0))).begin()
    _, err = play(replace_events(maker))
    assert " · max 1:00\n" in err


def replace_events(maker):
    maker.events = [replace(event) for event in maker.events]
    return maker


@pytest.mark.parametrize(("purpose", "mark"), [("close", "·"), ("plan", "✘"), ("item", "✘")])
def test_live_folds_calls_of_every_purpose(purpose, mark):
    """A planning or closing call becomes a line like any other; a mark without a colour stops no loop."""
    from ralph.app.words.story import update_call

    started = e.AgentStarted(iteration=3, call=3, agent="command", prompt="77e0aa11", purpose=purpose)
    call = update_call(None, started)
    live = Live(io.StringIO(), io.StringIO(), {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"})
    assert live._fold_call(call).plain.startswith(f"{mark} 3  ")
