"""What is asked of the agent when the work goes nowhere: four rungs for each kind of trouble, in order.

A rung is a sentence for the next prompt. Which one is due follows from how often the trouble came up on the
same item, so that no demand is made twice before the ladder ends. Recognising trouble is `signs`'s matter.
"""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.breaker_state import Demand, Trouble


class Rung(Struct, frozen=True):
    strategy: str  # its name: in the record, in reports, among what was tried
    text: str  # what the agent reads


ESCALATE = Rung(
    "escalate",
    "unless you see an approach that nobody tried, stop here: answer BLOCKED and say what was tried, "
    "what all of it has in common, and the one thing that you need from a human",
)
RUNGS: dict[Trouble, tuple[Rung, ...]] = {
    "no-progress": (
        Rung("replan", "re-plan before you edit: write down what is missing and in which order to do it"),
        Rung("split", "split what is left into at least three small parts and finish the first of them"),
        Rung("skip and return", "leave the hard part, finish another one, then come back"),
        ESCALATE,
    ),
    "same-error": (
        Rung(
            "change the approach", "drop the current idea and find a different design for the same behaviour"
        ),
        Rung(
            "check the environment",
            "before you edit, show what the failing check really uses: versions, paths, settings, inputs",
        ),
        Rung(
            "look for a known issue",
            "read the failing library or tool itself (its source, its changelog) for this very message",
        ),
        ESCALATE,
    ),
    "test-loop": (
        Rung("question the test's assumptions", "say what each failing test assumes, and whether it holds"),
        Rung("question the implementation", "assume the tests are right and look for the fault in the code"),
        Rung("shrink the scope", "make one failing test pass with the smallest code change, nothing more"),
        ESCALATE,
    ),
    "circular": (
        Rung("analyse again", "read the task and both failures again and name what they have in common"),
        Rung("an untried approach", "list what was tried and choose an approach that is not on the list"),
        Rung("a minimal version", "build the smallest version that satisfies both sides, then extend it"),
        ESCALATE,
    ),
}


def next_rung(demands: tuple[Demand, ...], trouble: Trouble, item: str = "") -> Rung:
    """The first rung that was not asked for yet; the last one stays the last."""
    rungs = RUNGS[trouble]
    return rungs[min(len(already_asked(demands, trouble, item)), len(rungs) - 1)]


def already_asked(demands: tuple[Demand, ...], trouble: Trouble, item: str = "") -> tuple[str, ...]:
    """Strategies that were asked for in this trouble, oldest first."""
    return tuple(one.strategy for one in demands if (one.trouble, one.item) == (trouble, item))


def demand_text(why: str, rung: Rung, before: tuple[str, ...]) -> str:
    """The demand as the next prompt has it, without a full stop: the prompt goes on after it."""
    tried = f". Already tried without success: {', '.join(dict.fromkeys(before))}" if before else ""
    return f"{why}. {rung.strategy.capitalize()}: {rung.text}{tried}"
