"""IMPLEMENTATION_PLAN.md: what is read, what is written, and that both agree."""

from __future__ import annotations

import re
import time

import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import plans

from ralph.core.model.plan.items import Item, MissingSpec, Plan, digest_of, id_of, normal, stale
from ralph.core.plan.file import parse_item, parse_plan
from ralph.core.plan.layout import Layout, lay_out, render_plan
from ralph.core.text.markdown import rows, slug

WHOLE = """\
# Implementation plan

<!-- ralph plan: specs=aa11 code=bb22 -->

## High

- [ ] `store`: Keep sessions (P0, S, serves AUTH-1)
- [!] `login-form`: Show the login form (P0, M, serves AUTH-1 AUTH-2, after store)
  > the designer's sketch is in docs/
  > a second note

## Medium

- [ ] `keys`: Put the keys into the vault (P1, human, chore)

## Optional

- [ ] `dark`: A dark theme (P2, L, optional)

## Completed

- [x] `ci`: Set up CI (P0, chore)
- [-] `old`: Not wanted any more (P2)

## Missing specs

- `AUTH-9`: nobody says what happens on a locked account
- `billing`:

## Notes

> something that was learnt
"""


def plan_of(*lines: str) -> Plan:
    return parse_plan("\n".join(lines)).plan


def only(*lines: str) -> Item:
    (item,) = plan_of(*lines).items
    return item


def test_the_whole_format() -> None:
    """Every part of the file is read into its field, and written as it was."""
    parsed = parse_plan(WHOLE)
    assert parsed.problems == ()
    assert parsed.missing_listed
    assert parsed.lines == {"store": 7, "login-form": 8, "keys": 14, "dark": 18, "ci": 22, "old": 23}
    assert parsed.plan == Plan(
        items=(
            Item("store", "Keep sessions", priority=0, size="S", serves=("AUTH-1",)),
            Item(
                "login-form",
                "Show the login form",
                priority=0,
                size="M",
                after=("store",),
                serves=("AUTH-1", "AUTH-2"),
                state="blocked",
                notes=("the designer's sketch is in docs/", "a second note"),
            ),
            Item("keys", "Put the keys into the vault", human=True, chore=True),
            Item("dark", "A dark theme", priority=2, size="L", optional=True),
            Item("ci", "Set up CI", priority=0, state="done", chore=True),
            Item("old", "Not wanted any more", priority=2, state="cancelled"),
        ),
        missing=(
            MissingSpec("AUTH-9", "nobody says what happens on a locked account"),
            MissingSpec("billing"),
        ),
        notes=("something that was learnt",),
        specs="aa11",
        code="bb22",
    )
    assert render_plan(parsed.plan) == WHOLE


LINES: list[tuple[str, Item]] = [
    ("- [ ] Fix the parser", Item("fix-the-parser", "Fix the parser")),
    ("* [x] done", Item("done", "done", state="done")),
    ("1. [X] done", Item("done", "done", state="done")),
    ("- [ ] login-form: Show it", Item("login-form", "Show it")),
    ("- [ ] **T-3**: Show it", Item("T-3", "Show it")),
    ("- [ ] **T-3:** Show it", Item("T-3", "Show it")),
    ("- [ ] 1.2: Show it", Item("1.2", "Show it")),
    ("- [ ] Fix: the parser", Item("fix-the-parser", "Fix: the parser")),
    ("- [ ] P0: Show it", Item("show-it", "Show it", priority=0)),
    ("- [ ] [P2] Show it", Item("show-it", "Show it", priority=2)),
    ("- [ ] **P0** Show it", Item("show-it", "Show it", priority=0)),
    ("- [ ] `a`: P0 Show it", Item("a", "P0 Show it")),
    ("- [ ] `a`: Show it (p0, l, human)", Item("a", "Show it", priority=0, size="L", human=True)),
    ("- [ ] `a`: x (serves A-1, A-2, S)", Item("a", "x", serves=("A-1", "A-2"), size="S")),
    ("- [ ] `a`: x (depends on b c)", Item("a", "x", after=("b", "c"))),
    ("- [ ] `a`: x (needs b, covers A-1)", Item("a", "x", after=("b",), serves=("A-1",))),
    ("- [ ] `a`: x (depends on: b)", Item("a", "x", after=("b",))),
    ("- [ ] do x [P0] [m]", Item("do-x", "do x", priority=0, size="M")),
    ("- [ ] `a`: x [P0]", Item("a", "x [P0]")),
    (
        "- [ ] `a`: x\n  - **Depends on:** b, c\n  Serves: A-1",
        Item("a", "x", after=("b", "c"), serves=("A-1",)),
    ),
    ("- [ ] `a`: x\n  > after: b", Item("a", "x", notes=("after: b",))),
    ("- [ ] `a`: x\n  - after: a while", Item("a", "x", notes=("after: a while",))),
    ("- [ ] `a`: x\n  - after: all, that's it", Item("a", "x", notes=("after: all, that's it",))),
    ("- [ ] `a`: x (manual)", Item("a", "x", human=True)),
    ("- [ ] `a`: x (see above)", Item("a", "x (see above)")),
    ("- [ ] `a`: x (S) (P1)", Item("a", "x (S)")),
    ("- [ ] `a`: x ()", Item("a", "x ()")),
    ("- [ ] 完成登录", Item(id_of("完成登录"), "完成登录")),
    ("- [ ] s", Item("item-s", "s")),
]


@pytest.mark.parametrize(("text", "item"), LINES)
def test_lines(text: str, item: Item) -> None:
    """A line that people or agents write becomes this item."""
    parsed = parse_plan(text)
    assert parsed.plan.items == (item,)
    assert parsed.problems == ()


HEADINGS: list[tuple[str, int, bool]] = [
    ("## High", 0, False),
    ("## High priority", 0, False),
    ("### Priority: High", 0, False),
    ("## 1. Critical", 0, False),
    ("## 🔥 P0", 0, False),
    ("## **Blockers**", 0, False),
    ("## Medium", 1, False),
    ("## P2 polish", 2, False),
    ("## Low ##", 2, False),
    ("## Future", 1, True),
    ("## Nice to have", 1, True),
    ("## Phase 3 (optional)", 1, True),
    ("## Highlights", 1, False),
    ("## Anything else", 1, False),
    ("## Completed", 1, False),
]


@pytest.mark.parametrize(("heading", "priority", "optional"), HEADINGS)
def test_headings(heading: str, priority: int, optional: bool) -> None:
    """A heading gives its items their priority, or makes them optional; others change nothing."""
    item = only(heading, "", "- [ ] x it")
    assert (item.priority, item.optional) == (priority, optional)


def test_headings_nest() -> None:
    """A heading below another keeps what the upper one said, until one of the same level comes."""
    found = plan_of(
        "## Future", "### High", "- [ ] a1", "### Whatever", "- [ ] b1", "## Low", "#### Deep", "- [ ] c1"
    )
    assert {item.id: (item.priority, item.optional) for item in found.items} == {
        "a1": (0, True),
        "b1": (1, True),
        "c1": (2, False),
    }


def test_a_box_below_another() -> None:
    """A nested box is an item of its own, and the upper one waits for it."""
    found = plan_of(
        "- [ ] `top`: x (after z)",
        "  - [ ] `one`: y",
        "    - [x] `deep`: w",
        "  - [ ] `two`: y",
        "- [ ] `z`: z",
    )
    assert {item.id: item.after for item in found.items} == {
        "top": ("z", "one", "two"),
        "one": ("deep",),
        "deep": (),
        "two": (),
        "z": (),
    }


def test_what_is_shown_is_no_item() -> None:
    """Boxes in code and comments are examples, wherever they stand."""
    found = plan_of(
        "```",
        "- [ ] shown",
        "```",
        "<!-- - [ ] hidden -->",
        "<!--",
        "- [ ] hidden too",
        "-->",
        "- [ ] real",
        "  ~~~",
        "  - [ ] shown below",
        "  ~~~",
    )
    assert [item.id for item in found.items] == ["real"]
    assert found.items[0].notes == ("~~~", "- [ ] shown below", "~~~")
    assert "- [ ] shown" in found.notes


PROBLEMS: list[tuple[str, str, str]] = [
    ("- [y] x it", "P1", "a box holds 'y', expected one of ' ', 'x', '!', '-'"),
    ("- [] x it", "P1", "a box holds '', expected one of ' ', 'x', '!', '-'"),
    ("-[ ] x it", "P1", "a box holds '', expected one of ' ', 'x', '!', '-'"),
    ("- [ ] `a b`: x", "P1", "'a b' is not an id: letters, digits, . _ -"),
    ("- [ ] `P0`: x", "P1", "'P0' is not an id: letters, digits, . _ -"),
    ("- [ ] `a`: x (P0, sevres A-1)", "P1", "there is no tag 'sevres A-1'"),
    ("- [ ]", "P1", "an item has no title"),
    ("## High\n- Set up CI", "P2", "a line without a box is no item: 'Set up CI'"),
    ("## Completed\n- [ ] x it", "P2", "an open box is under Completed"),
]


@pytest.mark.parametrize(("text", "severity", "message"), PROBLEMS)
def test_problems_are_named_with_their_line(text: str, severity: str, message: str) -> None:
    """What is not as it should be is told with its place, and never dropped in silence."""
    (found,) = parse_plan("\n" + text).problems
    assert (found.severity, found.message) == (severity, message)
    assert (found.path, found.line) == ("IMPLEMENTATION_PLAN.md", text.count("\n") + 2)


def test_nothing_is_lost() -> None:
    """Prose, unknown headings, unknown tags and comments of others are kept as notes."""
    found = plan_of(
        "# P", "Some prose.", "## Strange", "<!-- mine -->", "- [ ] `a`: x (S, oops)", "  why: so", "> said"
    )
    assert found.notes == ("Some prose.", "Strange", "<!-- mine -->", "said")
    assert found.items[0].notes == ("tag not understood: oops", "why: so")


MISSING: list[tuple[str, tuple[MissingSpec, ...]]] = [
    ("- none", ()),
    ("- None.", ()),
    ("- `none`: really", (MissingSpec("none", "really"),)),
    ("- AUTH-1: no word on it", (MissingSpec("AUTH-1", "no word on it"),)),
    ("- [ ] billing", (MissingSpec("billing"),)),
    ("- `a b`", (MissingSpec("a b"),)),
]


@pytest.mark.parametrize(("text", "missing"), MISSING)
def test_missing_specs(text: str, missing: tuple[MissingSpec, ...]) -> None:
    """The section lists what no spec says; its lines are never items."""
    parsed = parse_plan(f"## Missing specs\n{text}\n")
    assert (parsed.plan.missing, parsed.plan.items, parsed.missing_listed) == (missing, (), True)


def test_ids_are_stable() -> None:
    """An id made from a title is the same each time, does not take one that is given, and is written down."""
    text = "- [ ] Do it\n- [ ] Do it\n- [ ] `do-it-2`: given\n"
    first = parse_plan(text)
    assert [item.id for item in first.plan.items] == ["do-it", "do-it-3", "do-it-2"]
    assert parse_plan(text) == first
    assert parse_plan(render_plan(first.plan)).plan == first.plan


def test_groups_have_headings() -> None:
    """Whatever group comes first has its heading, and an empty one has none."""
    for priority, name in enumerate(("High", "Medium", "Low")):
        headings = [
            row for row in render_plan(Plan(items=(Item("a", "x", priority),))).split("\n") if row[:2] == "##"
        ]
        assert headings == [f"## {name}", "## Missing specs"]


def test_one_line_of_a_list() -> None:
    """A line of another document is read with the same rules."""
    assert parse_item("T-1: x (P0)", 4) == (Item("T-1", "x", priority=0), ())
    assert parse_item("x (P0, oops)", 4, "a.md")[1][0].line == 4


@settings(max_examples=examples(60))
@given(plans())
def test_reading_what_was_written(plan: Plan) -> None:
    """parse(render(plan)) is the plan as a file can hold it, and rendering that again changes nothing."""
    text = render_plan(plan)
    parsed = parse_plan(text)
    assert parsed.plan == normal(plan)
    assert render_plan(parsed.plan) == text
    assert parsed.missing_listed


MARKS = st.sampled_from(
    [
        "- [ ] ",
        "- [x] ",
        "## High\n",
        "## ",
        "```\n",
        "<!-- ",
        "-->",
        "> ",
        "  ",
        "`a`: ",
        "(P0, ",
        ")",
        "serves ",
        "\n",
        "\r",
        "\t",
    ]
)


@given(st.lists(st.one_of(MARKS, st.text(max_size=12)), max_size=40).map("".join))
@example("- [ ] x (serves \u2028 a)")
@example("\x00\ud800")
def test_any_text_can_be_read(text: str) -> None:
    """Nothing makes the parser raise, and what it made of a text survives being written."""
    first = parse_plan(text).plan
    assert parse_plan(render_plan(first)).plan == first


@pytest.mark.parametrize("piece", ["- [ ] x (", "(", "#", " ", "`", "> ", "[ ] ", "- ", "<!--", "\t", "a, "])
def test_hostile_lines_take_linear_time(piece: str) -> None:
    """A long line of anything is read at once."""
    began = time.process_time()
    parse_plan("- [ ] " + piece * (200_000 // len(piece)) + "b)")
    parse_plan("# a" + piece * (200_000 // len(piece)) + "b")
    assert time.process_time() - began < 20


@pytest.mark.slow
@given(plans(), st.lists(st.sampled_from(["open", "done", "blocked", "cancelled"]), min_size=1, max_size=6))
def test_a_file_is_laid_out_for_any_states(plan: Plan, states: list) -> None:
    """It says of each item what it is given, and of the rest what the plan says."""
    plan = normal(plan)
    given_states = {item.id: states[n % len(states)] for n, item in enumerate(plan.items)}
    made = Layout(plan).data(given_states, specs="cc33", code="dd44")
    found = parse_plan(made.decode()).plan
    assert (found.specs, found.code) == ("cc33", "dd44")
    if len(given_states) == len(plan.items):  # ids are unique
        assert {item.id: item.state for item in found.items} == given_states
        whole = tuple(replace(item, state=given_states[item.id]) for item in plan.items)
        assert made == lay_out(replace(plan, items=whole, specs="cc33", code="dd44"))


STALE: list[tuple[str, str, tuple[str, ...]]] = [
    ("aa", "bb", ()),
    ("a0", "bb", ("the specs changed since the plan was made",)),
    ("aa", "b0", ("the code changed since the plan was made",)),
    ("a0", "b0", ("the specs changed since the plan was made", "the code changed since the plan was made")),
]


@pytest.mark.parametrize(("specs", "code", "why"), STALE)
def test_staleness(specs: str, code: str, why: tuple[str, ...]) -> None:
    """A plan is stale when the specs or the code are not what it was made from."""
    assert stale(Plan(specs="aa", code="bb"), specs=specs, code=code) == why
    assert stale(Plan(), specs=specs, code=code) == ()  # written by hand


def test_one_digest_for_many_files() -> None:
    """The digest knows names and contents, and no order."""
    one = digest_of({"a": "1", "b": "2"})
    assert one == digest_of({"b": "2", "a": "1"})
    assert (
        len({one, digest_of({"a": "2", "b": "1"}), digest_of({"a": "12", "b": ""}), digest_of({"ab": "12"})})
        == 4
    )
    assert re.fullmatch(r"[0-9a-f]{64}", digest_of({"\ud800": "\ud800"}))


@given(st.text(max_size=200))
def test_rows_number_the_lines(text: str) -> None:
    """Every line is told once, in order, with its number."""
    assert [row.line for row in rows(text)] == list(range(1, len(list(rows(text))) + 1))


def test_slugs() -> None:
    """A name has at most the first few words, in lower case, and never half a word."""
    assert slug("Log in & OUT!") == "log-in-out"
    assert slug("a" * 50) == "a" * 40
    assert slug("one two three four five six seven") == "one-two-three-four-five-six"
    assert slug("wonderful " * 9) == "wonderful-wonderful-wonderful-wonderful"
    assert slug("完成") == ""


@pytest.mark.parametrize(
    "line",
    [
        "  - Proof: none because only people can judge it",
        "  - **Proof:** none, because only people can judge it",
        "  Proof: none; only people can judge it",
        '  - proof = "none" because: only people can judge it',
        "  - Proof: none \u2014 only people can judge it",
    ],
)
def test_an_item_may_declare_that_nothing_proves_it(line: str) -> None:
    """However it is written; it is kept through the file."""
    parsed = parse_plan(f"- [ ] `look`: Polish it (P1)\n{line}\n  > a note\n")
    want = Item("look", "Polish it", no_proof="only people can judge it", notes=("a note",))
    assert (parsed.plan.items, parsed.problems) == ((want,), ())
    assert parse_plan(render_plan(parsed.plan)).plan == parsed.plan


@pytest.mark.parametrize("line", ["  - Proof: none", "  - Proof: none because", "  Proof: none."])
def test_a_declaration_needs_its_reason(line: str) -> None:
    """Without one it is an error with its line, declares nothing, and is kept as a note."""
    parsed = parse_plan(f"- [ ] `look`: Polish it\n{line}\n")
    assert [(one.line, one.key.partition(":")[0]) for one in parsed.problems] == [(2, "plan-proof")]
    assert parsed.plan.items[0].no_proof == ""
    assert parsed.plan.items[0].notes
    assert parse_plan(render_plan(parsed.plan)).plan == parsed.plan


@pytest.mark.parametrize(
    "line",
    ["  - Proof: none of the tests covers it", "  - proofs: none because x", "  > Proof: none because x"],
)
def test_what_only_looks_like_a_declaration(line: str) -> None:
    """Other sentences, and notes, declare nothing."""
    parsed = parse_plan(f"- [ ] `look`: Polish it\n{line}\n")
    assert parsed.plan.items[0].no_proof == ""
