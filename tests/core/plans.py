"""Plans for the tests: any plan that a file can hold, and sound ones without circles."""

from __future__ import annotations

from hypothesis import strategies as st

from ralph.core.model.plan.items import SIZES, STATES, Item, MissingSpec, Plan

IDS = st.sampled_from(["a", "b", "C-1", "C-2.1", "x_y", "login-form", "7", "Z.z", "s", "human", "after"])
LINES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["(P0)", "x (S)", "`a`: b", "- [ ] x", "## High", "> quoted", "```", "<!-- x", "P0: x", "a  b", "-"]
    ),
)
DIGESTS = st.sampled_from(["", "0", "ab12", "f" * 64, "not a digest"])


@st.composite
def items(draw: st.DrawFn, ids: st.SearchStrategy[str] = IDS) -> Item:
    serves = tuple(draw(st.lists(IDS, max_size=3)))
    return Item(
        id=draw(ids),
        title=draw(LINES),
        priority=draw(st.integers(0, 2)),
        size=draw(st.sampled_from(SIZES)),
        after=tuple(draw(st.lists(IDS, max_size=3))),
        serves=serves,
        state=draw(st.sampled_from(STATES)),
        optional=draw(st.booleans()),
        human=draw(st.booleans()),
        chore=draw(st.booleans()),
        no_proof="" if serves else draw(st.one_of(st.just(""), LINES)),
        notes=tuple(draw(st.lists(LINES, max_size=2))),
    )


def plans() -> st.SearchStrategy[Plan]:
    return st.builds(
        Plan,
        items=st.lists(items(), max_size=4).map(tuple),
        missing=st.lists(st.builds(MissingSpec, name=LINES, why=LINES), max_size=3).map(tuple),
        notes=st.lists(LINES, max_size=3).map(tuple),
        specs=DIGESTS,
        code=DIGESTS,
    )


@st.composite
def sound_plans(draw: st.DrawFn, most: int = 12) -> Plan:
    """Unique ids, and every item waits only for earlier ones; shuffled, so that order tells nothing."""
    count = draw(st.integers(0, most))
    made = []
    for number in range(count):
        after = draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True)) if number else []
        serves = draw(st.lists(st.integers(0, 4), max_size=2, unique=True))
        made.append(
            Item(
                id=f"i{number}",
                title=f"item {number}",
                priority=draw(st.integers(0, 2)),
                after=tuple(f"i{one}" for one in after),
                serves=tuple(f"C-{one}" for one in serves),
                state=draw(st.sampled_from(("open", "open", "open", "done", "blocked", "cancelled"))),
                optional=draw(st.integers(0, 4)) == 0,
                human=draw(st.integers(0, 6)) == 0,
                chore=draw(st.booleans()),
            )
        )
    return Plan(items=tuple(draw(st.permutations(made))))
