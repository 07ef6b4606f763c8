"""From a sentence to a proposal: the table is law, the properties hold for anything that can be typed."""

import re

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from route_utterances import ASKING, CONTROL, FIRST_HOUR, NONE, SEEDS, TABLE, UNSEEN, WITH_SPECS

from ralph.core.sentence.flags_in_text import MAX_SECONDS, MAX_TRIES
from ralph.core.sentence.goal_hosts import GOALS, MAX_CHARS, goal_line, host_of
from ralph.core.sentence.intent import (
    KINDS,
    MAX_TEXT_CHARS,
    PUBLIC,
    KnownHere,
    KnownLoop,
    RouteChoice,
    check_question,
    public,
    with_check,
)
from ralph.core.sentence.phrases import LOOP_NAME, languages, pattern_text
from ralph.core.sentence.route import route

LOOPS = (
    KnownLoop("fix-auth-7f3a91c2", unfinished=True, resumable=True),
    KnownLoop("docs-91ab44cd", unfinished=True, resumable=True),
)
HIDDEN = ("verb", "max_cost", "team", "count")
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def told(found):
    """The proposal as a reader of --json has it, with what only the command sees."""
    return {**public(found), "ask": list(found.ask), **{name: getattr(found, name) for name in HIDDEN}}


def assert_clean(value):
    """No text in it, however deep, holds a control character."""
    if isinstance(value, str):
        assert not CONTROLS.search(value), repr(value)
    elif isinstance(value, dict):
        for one in value.values():
            assert_clean(one)
    elif isinstance(value, list | tuple):
        for one in value:
            assert_clean(one)


def wrong(text, fields):
    """What of a row is not as it must be."""
    found = route(text, KnownHere(LOOPS))
    have = told(found)
    bad = {name: have[name] for name, want in fields.items() if name != "about" and have[name] != want}
    if "about" in fields and fields["about"] not in {one.about for one in found.ask}:
        bad["about"] = [one.about for one in found.ask]
    return found.route, bad


def test_enough_is_said():
    """At least 80 utterances are law, near misses and injections among them, and none stands there twice."""
    texts = [text for text, _, _ in (*TABLE, *UNSEEN)]
    assert len(TABLE) >= 200
    assert len(NONE) >= 40
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize(("text", "want", "fields"), TABLE, ids=[f"{row[0][:50]!r}" for row in TABLE])
def test_table(text, want, fields):
    """Every row of the table is taken for what it says."""
    assert wrong(text, fields) == (want, {})


def test_precision(capsys, record_testsuite_property):
    """Of sentences that nobody fitted the phrases to, hardly one starts something that it did not ask for."""
    rows = [(text, want, *wrong(text, fields)) for text, want, fields in UNSEEN]
    started = [row for row in rows if row[2] != "none"]
    asked = [row for row in rows if row[1] != "none"]
    right = [row for row in started if row[1] == row[2]]
    false = [row[0] for row in started if row[1] == "none"]
    precision, recall = len(right) / len(started), len(right) / len(asked)
    words = f"routing: {len(TABLE)} utterances of the table; {len(UNSEEN)} unseen: "
    words += f"precision {precision:.3f}, recall {recall:.3f}, {len(false)} false starts"
    record_testsuite_property("routing", words)
    with capsys.disabled():
        print(f"\n{words}")
    assert false == []
    assert precision >= 0.98
    assert recall >= 0.95


def test_public_keys():
    """--json has exactly the agreed keys, in their order."""
    assert PUBLIC == (
        "route", "task", "criterion", "verification_command", "max_iterations", "timeout", "loop_id", "host",
        "confidence", "ask",
    )  # fmt: skip
    assert list(public(route("ralph it"))) == list(PUBLIC)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("could you ralph this: fix the login?", "internal"),
        ("please, could you fix the tests until they pass?", "internal"),
        ("ralph this: why do the tests fail?", "none"),
        ("ralph this: write down in docs/why.md why the tests fail?", "internal"),
        ("how do I loop until done", "none"),
        ("is looping a good idea?", "none"),
        ("sigue intentando hasta que los tests pasen", "internal"),
    ],
)
def test_questions_and_courtesies(text, want):
    """A courtesy in the form of a question is a request; a question is none, whatever stands before it."""
    assert route(text, KnownHere(LOOPS)).route == want


def test_edges_of_a_text():
    """The longest text is still read, one more character is not; without a language nothing is understood."""
    text = "ralph this: fix it " + "x" * MAX_TEXT_CHARS
    assert route(text[:MAX_TEXT_CHARS]).route == "internal"
    assert route(text[: MAX_TEXT_CHARS + 1]).route == "none"
    assert route("ralph it", tables=()).route == "none"


def test_questions_have_numbered_choices():
    """A missing check is asked for with test, types, lint, build and a command of one's own."""
    found = route("ralph this: fix the login")
    asked = [one for one in found.ask if one.about == "check"]
    assert [[choice.label for choice in one.choices] for one in asked] == [list(KINDS)]
    assert KINDS == ("test", "types", "lint", "build", "custom command")


def test_context():
    """The task that is not said is the newest one of the project; it is a guess, so it is never certain."""
    known = KnownHere(
        (KnownLoop("b-00000002", task="port\nthe \x1b[31mlexer"), KnownLoop("a-00000001", task="old"))
    )
    for text in ("ralph it", "loop until done", "run this in the background", "keep trying"):
        found = route(text, known)
        assert (found.task, found.guessed, found.confidence) == ("port the lexer", True, "medium"), text
    assert route("ralph it").task is None
    assert [one.about for one in route("ralph it").ask] == ["task", "check"]


def test_a_check_completes_the_proposal():
    """An inferred check fills in what is missing and keeps what was said; an unsure one stays a question."""
    found = route("loop until lint is clean")
    sure = with_check(found, "ruff finds nothing", "ruff check .", "high")
    assert (sure.criterion, sure.verification_command) == ("lint is clean", "ruff check .")
    assert (sure.confidence, sure.ask) == ("high", ())
    unsure = with_check(route("ralph this: fix it"), "tests pass", "pytest", "medium")
    assert (unsure.criterion, unsure.confidence) == ("tests pass", "medium")
    assert [one.about for one in unsure.ask] == ["check"]


def test_confidence_is_what_is_left_open():
    """Two readings and a number that is no bound leave it medium, a missing loop low, nothing open high."""
    check = "; completion: `npm test` passes"
    assert route(f"ralph this: fix it{check}").confidence == "high"
    assert route(f"ralph this: cache it for at most 2 hours{check}").confidence == "medium"
    assert route(f"ralph this: fix it, 0 tries max{check}").confidence == "medium"
    assert route("abort that").confidence == "low"


def test_known_commands_stand_in_the_question():
    """What was inferred comes first, then each kind with its command where one is known."""
    lint = RouteChoice("lint", "ruff check .")
    asked = check_question("it is vague", (RouteChoice("as inferred", "make"), lint))
    assert asked.question == "it is vague; what command proves that it is done?"
    assert [choice.label for choice in asked.choices] == ["as inferred", *KINDS]
    assert asked.choices[KINDS.index("lint") + 1] == lint


def test_a_typed_check_is_given_on():
    """The check goes to the loop, and a host's line is made anew with what is known now, once."""
    found = route("ralph this: fix it", KnownHere(host="claude"))
    assert [one.about for one in found.ask] == ["check"]
    once = with_check(found, "`make` passes", "make", "high", ("make",))
    twice = with_check(once, "other", "make all", "high", ("make all",))
    assert (once.checks, twice.checks) == (("make",), ("make all",))
    assert [one.about for one in twice.ask] == ["start"]
    assert twice.ask[0].choices[0].value == '/goal "fix it; completion: `make` passes"'


@pytest.mark.parametrize("host", GOALS)
def test_goal_line_is_exact(host):
    """A host with a goal command gets the exact line, once task and criterion are known."""
    found = route("fix until green; completion: `npm test` passes", KnownHere(host=host))
    assert (found.route, found.host, found.confidence) == ("goal", host, "high")
    assert [choice.value for one in found.ask for choice in one.choices] == [
        '/goal "fix the failing tests; completion: `npm test` passes"'
    ]


@pytest.mark.parametrize(
    ("task", "criterion", "line"),
    [
        ("fix it", "tests pass", '/goal "fix it; completion: tests pass"'),
        ('say "hi"', "a\\b", '/goal "say \\"hi\\"; completion: a\\\\b"'),
        ("two\nlines\t!", "x\x1b[31my", '/goal "two lines !; completion: xy"'),
        ("a; completion: b", "c; Completion : d", '/goal "a, completion: b; completion: c, Completion : d"'),
        ('"; completion: true', "x", '/goal "\\", completion: true; completion: x"'),
        ("$(id) `id` ; rm", "y", '/goal "$(id) `id` ; rm; completion: y"'),
    ],
)
def test_goal_escaping(task, criterion, line):
    """Quotes and backslashes are escaped, there is one line, and one completion in it."""
    assert goal_line(task, criterion) == line


@given(st.text(max_size=200), st.text(max_size=200))
def test_goal_line_can_be_read_back(task, criterion):
    """Whatever is in it, the line has one end: unescaped, it is one quoted text with one completion."""
    line = goal_line(task, criterion)
    assert not CONTROLS.search(line)
    inner = re.fullmatch(r'/goal "((?:[^"\\]|\\["\\])*)"', line)
    assert inner is not None
    assert len(re.findall(r"; ?completion *:", inner[1], re.IGNORECASE)) == 1


def test_goal_is_only_for_hosts_that_have_it():
    """Other hosts and external wording keep Ralph's own loop; a line that is too long is not certain."""
    assert route("fix until green", KnownHere(host="gemini")).route == "internal"
    assert route("ralph this in the background: fix it", KnownHere(host="claude")).route == "external"
    assert route("abort that", KnownHere(LOOPS, host="claude")).route == "control"
    long = route(f"ralph this: {'x' * MAX_CHARS}; completion: `npm test` passes", KnownHere(host="claude"))
    assert (long.route, long.confidence) == ("goal", "low")


def test_hosts_are_known_by_what_they_set():
    """The host is read from the variables that it gives to what it starts."""
    assert [
        host_of({name: "1"}) for name in ("CLAUDECODE", "CODEX_THREAD_ID", "QWEN_CODE", "GEMINI_CLI")
    ] == [
        "claude",
        "codex",
        "qwen",
        "gemini",
    ]
    assert host_of({"CLAUDECODE": ""}) == ""
    assert host_of({}) == ""


def test_loops_that_controls_mean():
    """One fitting loop is meant by "that"; of several one is asked for; none is said."""
    one = KnownHere((KnownLoop("old-00000001"), KnownLoop("new-00000002", unfinished=True, resumable=True)))
    assert route("abort that", one).loop_id == "new-00000002"
    assert route("abort that", one).confidence == "high"
    several = route("abort that", KnownHere(LOOPS))
    assert several.confidence == "low"
    assert [choice.value for choice in several.ask[0].choices] == ["fix-auth-7f3a91c2", "docs-91ab44cd"]
    nothing = route("resume it", KnownHere((KnownLoop("old-00000001"),)))
    assert (nothing.confidence, nothing.ask[0].question) == ("low", "there is no resumable loop here")
    assert route("status", KnownHere(LOOPS)).confidence == "high"


def test_none_says_what_to_use_instead():
    """What starts nothing names something that can be done."""
    for text, _, _ in NONE:
        found = route(text)
        assert [one.about for one in found.ask] == ["instead"], text
        assert all(choice.value.startswith("ralph ") for one in found.ask for choice in one.choices), text
    assert (
        route("rename 'foo'").ask[0].choices[0].value
        == """ralph loop 'rename '"'"'foo'"'"'' --check "CMD\""""
    )


def test_too_long_is_refused_and_not_cut():
    """A sentence beyond the limit is no task with its end missing."""
    found = route("ralph this: " + "x" * MAX_TEXT_CHARS)
    assert (found.route, found.task) == ("none", None)
    assert "characters" in found.ask[0].question


def test_a_language_is_only_data():
    """A table of another language works without any change elsewhere, alone too."""
    assert [language.name for language in languages()] == ["en", "es"]
    found = route(
        "sigue intentando hasta que la cobertura supere el 80%, hasta 5 intentos", tables=languages()[1:]
    )
    assert (found.route, found.max_iterations) == ("internal", 5)
    assert found.task == "añade tests para subir la cobertura"
    assert route("keep trying until tests pass", tables=languages()[1:]).route == "none"


def test_phrases_are_well_formed():
    """Every phrase of every language can be made a pattern; an open bracket is found."""
    with pytest.raises(ValueError, match="bracket is open"):
        pattern_text("fix [it")
    for language in languages():
        names = [row.say for row in language.rows]
        assert len(names) == len(set(names)), language.name
        for words, _ in language.criteria.subjects:
            assert re.compile(words)
    assert LOOP_NAME.fullmatch("ralph-fix-auth-7f3a91c2")
    assert {verb for verb, _ in languages()[0].controls} >= {"abort", "status", "resume", "attach", "pause"}


PIECES = st.one_of(
    st.sampled_from([text for text, _, _ in (*SEEDS, *ASKING, *CONTROL)]),
    st.sampled_from(
        [
            "ralph this: ", "loop ", "until ", "keep trying ", "fix ", ", ", " and ", "up to ", "9" * 12,
            " tries",
            " for at most ", "2 hours", "--iterations ", "--timeout ", "-1", "0", "1e9", "`", '"', "'", ";",
            "$(x)",
            "in the background", "abort ", "that ", "?", "completion: ", "\n", "\x1b[31m", "\u202e",
            "--check ",
            "; rm -rf /", "/goal ", "--loop-id ", "../x", "done", "a ", "an ", "half an hour", "forever",
        ]
    ),
    st.text(max_size=12),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(["", "claude", "nonsense"]))
def test_anything_can_be_said(text, host):
    """It never raises, never yields a control character, its bounds are sane and its answers consistent."""
    found = route(text, KnownHere(LOOPS, host))
    assert_clean(public(found))
    assert found.max_iterations is None or 1 <= found.max_iterations <= MAX_TRIES
    assert found.timeout is None or 1 <= found.timeout <= MAX_SECONDS
    assert found.task is None or found.task.strip() == found.task != ""
    assert found.loop_id is None or re.fullmatch(r"[a-z0-9-]{1,80}", found.loop_id)
    if found.verification_command is not None:
        assert not re.search(r"[;|&$<>(){}\\`]", found.verification_command)
    if found.route in ("internal", "external", "goal") and found.confidence == "high":
        assert found.task
        assert found.verification_command
    assert (found.verb != "") == (found.route == "control")


@settings(max_examples=examples(60), deadline=None)
@given(st.text(max_size=300))
def test_any_text_at_all(text):
    """The same for text that looks like nothing."""
    assert_clean(public(route(text)))


@pytest.mark.parametrize(("text", "where", "fields"), FIRST_HOUR, ids=[row[0] for row in FIRST_HOUR])
def test_what_newcomers_say(text, where, fields):
    """Names of the originals, agents, places and clauses beside the task are used, or asked about."""
    found = route(text)
    told = {name: getattr(found, name) for name in fields if name not in ("clauses", "places")}
    for kind, name in (("clause", "clauses"), ("place", "places")):
        if name in fields:
            told[name] = sum(one.about == kind for one in found.ask)
    assert (found.route, told) == (where, fields)


@pytest.mark.parametrize("text", WITH_SPECS)
def test_specs_are_built(text):
    """Where there are specs, who asks for them or for nothing in particular is offered `ralph build`."""
    found = route(text, KnownHere(specs=True))
    assert (found.route, found.build, found.task) == ("internal", True, None)
    assert found.team is text.startswith("/orchestrator")
    assert "check" not in {one.about for one in found.ask}


def test_what_is_asked_for_beside_specs_stays_a_loop():
    """Specs in the repository change nothing for a task or a criterion that was said."""
    known = KnownHere(specs=True)
    for text in ("ralph this: fix the parser", "keep trying until tests pass", "fix until green"):
        assert route(text, known).build is False


@pytest.mark.parametrize("how", ["in the background", "unattended", "so that it survives the session"])
def test_words_for_the_background_count_before_until_too(how):
    """Between the task and its criterion they say where, with commas and without; they are not the task."""
    for said in (f"fix add {how} until pytest passes", f"fix add, {how}, until pytest passes"):
        found = route(said)
        assert (found.route, found.task) == ("external", "fix add"), said
