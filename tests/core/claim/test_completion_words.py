"""Words of completion, and the dual condition that they are one half of."""

from __future__ import annotations

import re
import time

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.claim.completion_words import LANGUAGES, MAX_CHARS, indication, phrases_in
from ralph.core.claim.status_block import STATUS_INSTRUCTIONS
from ralph.core.model.agent import Claim
from ralph.core.model.plan.completion import NAMES, Checked, Indication, dual_condition

SAYS = [
    "All tasks are complete.",
    "All of the planned work is now finished",
    "all requirements have been fully implemented!",
    "Everything is done!",
    "Everything has been implemented; see the report.",
    "The project is now fully implemented.",
    "The whole task is **complete**.",
    "Project complete",
    "## Implementation complete",
    "- Implementation complete: 12 tests added",
    "There is nothing left to do.",
    "Nothing else to implement.",
    "No remaining tasks.",
    "There are no more open items left.",
    "All done ✅",
    "Ready for review.",
    "I fixed the parser.\n\nAll planned work\nis finished.",
    "Tests failed at first. Now everything is done.",
    "- [x] all items are done",
    "All tasks are complete; notably the iffy buttons.",
    "Todo está hecho: nombre, sinopsis, siguiente.",
    "代码里所有任务已完成了",
    "工作已经完成",
    "Todas las tareas están completadas.",
    "Todo está listo.",
    "El proyecto ya está terminado",
    "La implementación ha quedado completa.",
    "No queda nada por hacer.",
    "No hay más tareas pendientes",
    "Proyecto completado",
    "所有任务已完成。",
    "所有任務都已經完成",
    "任务已经全部完成",
    "已全部完成\uff01",
    "没有剩余任务。",
    "大功告成",
]
DOES_NOT = [
    "not done yet",
    "All tasks are not done.",
    "Not all tasks are done.",
    "The work isn't finished: everything is done but the docs",
    "The work isn\u2019t over, all done is far away",
    "Once all tasks are complete, I will stop.",
    "when everything is done",
    "Everything is done except the docs.",
    "Almost all done",
    "If everything is done, say so.",
    "All tasks will be done soon",
    "All tasks should be done",
    "Until all tasks are complete the loop goes on.",
    "I cannot say that everything is done.",
    "Is everything done?",
    "All done?",
    "项目已完成\uff1f",
    "Overall done counts vary.",
    "- everything is\n- done",
    "## everything is\ndone",
    "Everything is done, but two tests fail.",
    "Phase 1: all tasks complete",
    "This task is complete.",
    "Task 3 is complete",
    "First task complete",
    "The tests pass.",
    "Done with the parser.",
    "> All tasks are complete",
    "```\nAll tasks are complete.\n```",
    "    > Everything is done.",
    "`all done`",
    'The checklist says "all tasks are complete".',
    "The checklist says \u201call tasks are complete\u201d.",
    "The checklist reads 'all tasks are complete' there.",
    'An open quote: "all done',
    "<!-- all done -->",
    "---RALPH_STATUS---\nRECOMMENDATION: all done\n---END_RALPH_STATUS---",
    "todas las tareas estarán completadas",
    "Todo está casi listo",
    "Aún no está todo: todo está listo menos los tests, faltan dos",
    "Cuando todo esté hecho, terminaré; si todo está hecho, avisa",
    "«Todo está listo»",
    "一旦所有任务完成\uff0c就提交",
    "任务还没有完成",
    "并非所有任务已完成\uff0c还差两个",
    "所有任务完成后再提交",
    "是否所有任务已完成\uff1f",
    "「所有任务已完成」",
    "",
]


@pytest.mark.parametrize("text", SAYS)
def test_what_says_that_all_is_done(text: str) -> None:
    """A phrase of the table, said without reserve, is an indicator."""
    assert phrases_in(text)


@pytest.mark.parametrize("text", DOES_NOT)
def test_what_does_not(text: str) -> None:
    """Denied, conditional, expected, quoted, shown or asked, it is none."""
    assert phrases_in(text) == ()


def test_the_prompt_is_not_the_agents_word() -> None:
    """A sentence that stands in the prompt is an echo; the same words in a sentence of its own are not."""
    prompt = "Go on.\nSay so when you are there: All done.\n\n- everything is done\n"
    assert phrases_in("Everything is done.", prompt) == ()
    assert phrases_in("Everything is done, see above.", prompt) == ("Everything is done, see above.",)
    assert phrases_in("- **All done!**", "All  DONE.") == ()
    assert phrases_in("All done and more", "all done") == ("All done and more",)
    assert phrases_in(STATUS_INSTRUCTIONS) == ()


CLAIMS = {"en": "all done, {} x", "es": "todo está listo, {} x", "zh": "已全部完成{}"}
RESERVES = [
    (words.language, word)
    for words in LANGUAGES
    for word in re.sub(r"\(.*?\)", "()", "".join(words.reserves)).split("|")
    if not set(word) & set("()[]?\\")
]


@pytest.mark.parametrize(("language", "word"), RESERVES)
def test_every_reserve_takes_it_back(language: str, word: str) -> None:
    """Each word of reserve in the sentence makes it no indicator; without it, it is one."""
    assert phrases_in(CLAIMS[language].format("x" if language != "zh" else ""))
    assert phrases_in(CLAIMS[language].format(word)) == ()


def test_only_the_end_of_a_long_message_is_read() -> None:
    """What is shown of a sentence is cut, and an endless message is read from its end."""
    assert phrases_in("All done. " + "x\n" * MAX_CHARS) == ()
    assert len(phrases_in("x " * 200 + "all done")[0]) == 120


def test_three_languages() -> None:
    """The table is shipped in English, Spanish and Chinese."""
    assert [words.language for words in LANGUAGES] == ["en", "es", "zh"]


DONE = "All tasks are complete."
COMPLETE = Claim("COMPLETE", exit_signal=True, tests="PASSING")
ITERATIONS: list[tuple[str, Claim | None, tuple[bool, bool, bool]]] = [
    # message, claim, (counts, STATUS COMPLETE, signal)
    (DONE, None, (True, False, False)),
    (DONE * 5, None, (True, False, False)),
    ("hm", COMPLETE, (True, True, True)),
    (DONE, COMPLETE, (True, True, True)),
    ("hm", Claim("COMPLETE"), (True, True, False)),
    (DONE, Claim("IN_PROGRESS", exit_signal=False), (False, False, False)),
    (DONE, Claim("BLOCKED"), (False, False, False)),
    (DONE, Claim("IN_PROGRESS", exit_signal=True), (False, False, False)),
    ("hm", None, (False, False, False)),
]


@pytest.mark.parametrize(("message", "claim", "expected"), ITERATIONS)
def test_one_iteration(message: str, claim: Claim | None, expected: tuple[bool, bool, bool]) -> None:
    """Words and STATUS COMPLETE count; a claim that work is left beats every word."""
    found = indication(4, message, claim)
    assert (found.counts, found.complete, found.signal) == expected
    assert found.iteration == 4


def said(*marks: str) -> list[Indication]:
    """One iteration a mark: - nothing, w words, c COMPLETE, s COMPLETE with the signal."""
    made = {"-": Indication(0), "w": Indication(0, phrases=("x", "y")), "c": Indication(0, complete=True)}
    made["s"] = Indication(0, complete=True, phrases=("x",), signal=True)
    return [
        Indication(number, made[mark].complete, made[mark].phrases, made[mark].signal)
        for number, mark in enumerate(marks, 1)
    ]


GOOD = Checked(open_items=0, failing=(), errors=(), remaining=())
WINDOWS: list[tuple[str, int, bool, bool]] = [
    # iterations, indicators, signal, holds
    ("", 0, False, False),
    ("s", 1, True, False),
    ("ws", 2, True, True),
    ("cs", 2, True, True),
    ("ss", 2, True, True),
    ("wws", 3, True, True),
    ("w-s", 2, True, True),
    ("w--s", 1, True, False),
    ("www", 3, False, False),
    ("ccc", 3, False, False),
    ("ssw", 3, False, False),
    ("ss-", 2, False, False),
    ("wwwws", 3, True, True),
]


@pytest.mark.parametrize(("marks", "count", "signal", "holds"), WINDOWS)
def test_the_window(marks: str, count: int, signal: bool, holds: bool) -> None:
    """Two of the last three iterations must indicate, each counted once, and the last one must signal."""
    found = dual_condition(said(*marks), GOOD)
    assert (found.indicators, found.signal, found.holds) == (count, signal, holds)


CONDITIONS: list[tuple[Checked, tuple[bool | None, ...], list[str]]] = [
    (GOOD, (True, True, True, True), []),
    (Checked(2, (), (), ()), (False, True, True, True), ["no open item: no, 2 open"]),
    (Checked(0, ("t1", "t2"), (), ()), (True, False, True, True), ["tests pass: no, t1 and 1 more"]),
    (Checked(0, (), ("boom",), ()), (True, True, False, True), ["no unresolved error: no, boom"]),
    (Checked(0, (), (), ("a stub",)), (True, True, True, False), ["no meaningful work left: no, a stub"]),
    (Checked(), (None,) * 4, [f"{name}: unknown, it was not checked" for name in NAMES]),
]


@pytest.mark.parametrize(("checked", "holds", "sentences"), CONDITIONS)
def test_the_four_conditions(checked: Checked, holds: tuple, sentences: list[str]) -> None:
    """Each condition of the signal is checked by itself, and what is unknown does not hold."""
    found = dual_condition(said("s", "s"), checked)
    assert [one.name for one in found.conditions] == list(NAMES)
    assert tuple(one.holds for one in found.conditions) == holds
    assert found.language
    assert found.holds == found.evidence_agrees == all(holds)
    words = {True: "", False: "no", None: "unknown"}
    told = [f"{one.name}: {words[one.holds]}, {one.why}" for one in found.conditions if not one.holds]
    assert told == sentences


def test_both_halves_are_told_apart() -> None:
    """Words without a signal are not enough, and each half says so by itself."""
    found = dual_condition(said("w"), GOOD)
    assert (found.indicators, found.language, found.signal, found.evidence_agrees) == (1, False, False, False)


PIECES = st.sampled_from(
    ["All done. ", "not ", '"', "`", "> ", "```\n", "\n", "everything is ", "done", "?", "已全部完成", "if "]
)


@pytest.mark.slow
@given(st.lists(st.one_of(PIECES, st.text(max_size=10)), max_size=30).map("".join))
def test_any_message_can_be_read(text: str) -> None:
    """Nothing makes it raise, and a message never counts against itself as its own prompt."""
    phrases_in(text)
    assert phrases_in(text, text) == ()


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from("-wcs"), max_size=8))
def test_the_dual_condition_needs_both(marks: list[str]) -> None:
    """It never holds without a signal in the last iteration and words in two of the last three."""
    found = dual_condition(said(*marks), GOOD)
    assert found.holds == (marks[-1:] == ["s"] and sum(mark != "-" for mark in marks[-3:]) >= 2)


@pytest.mark.sample(check=3)
@pytest.mark.parametrize(
    "piece", ["all ", "no more ", '"', "`", "'", "all done ", "not ", "everything is now ", "全部", "."]
)
def test_long_messages_take_linear_time(piece: str) -> None:
    """A long message of anything is read in a moment."""
    began = time.process_time()
    phrases_in(piece * (100_000 // len(piece)))
    assert time.process_time() - began < 20
