"""What another agent proposes for a spec: read as hostile, and a patch that git itself takes."""

from __future__ import annotations

import json
import subprocess

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.specs.refine import (
    MAX_REPLY,
    Refinement,
    SpecEdit,
    edited_spec,
    lost_criteria,
    proposal_text,
    read_refinement,
)

SPEC = "# Log in\n\nIt opens fast.\nIt closes.\nIt closes.\n"


def reply(*edits: tuple[str, str], questions: tuple[object, ...] = (), **more: object) -> str:
    made = [{"find": find, "replace": new, "why": "because"} for find, new in edits]
    return json.dumps({"edits": made, "questions": questions, **more})


def test_the_last_object_of_the_answer_is_the_proposal() -> None:
    """Edits and questions are taken as they are; a question is one clean line."""
    text = 'I thought {"edits": []} first.\n' + reply(
        ("opens fast", "opens within 1 s"), questions=("how\x1b[31m\nlong?",)
    )
    said = read_refinement(text, SPEC)
    assert isinstance(said, Refinement)
    assert said.questions == ("how long?",)
    assert edited_spec(SPEC, said.edits) == SPEC.replace("opens fast", "opens within 1 s")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("", "no complete JSON object"),
        ("all good, nothing to add", "no complete JSON object"),
        ('{"edits": [], "questions": [', "no complete JSON object"),
        ("{" * 200_000, "no complete JSON object"),
        ("x" * (MAX_REPLY + 1), "characters, expected at most"),
        ('{"edits": []}', "does not have the asked form"),
        (reply(summary="more than was asked for"), "does not have the asked form"),
        (reply(questions=(1,)), "does not have the asked form"),
        (json.dumps({"edits": [{"path": "../x", "find": "It", "replace": "", "why": ""}], "questions": []}),
         "does not have the asked form"),
        (reply(("is not there", "x")), "stands 0 times"),
        (reply(("It closes.", "x")), "stands 2 times"),
        (reply(("", "x")), "stands 0 times"),
        (reply(("opens fast", "opens fast")), "changes nothing"),
        (reply(("opens fast", "opens\x1b[2Jfast")), "control character"),
        (reply(("opens fast", "opens \u202efast")), "control character"),
        (reply(("opens fast", "opens\rfast")), "control character"),
        (reply(("opens fast", "x" * 30_000)), "characters, expected at most"),
        (reply(("opens fast", "x"), ("It opens", "y")), "overlap"),
        (reply((SPEC, "\n")), "leave nothing"),
        (reply(*[("opens fast", "x")] * 51), "more than 50"),
        ('{"edits": [], "questions": ["\\ud800"]}', "asked form"),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_used_is_refused_whole(answer: str, says: str) -> None:
    """Whatever an agent answers, it is a proposal for this one spec or one sentence that says why not."""
    said = read_refinement(answer, SPEC)
    assert isinstance(said, str), said
    assert says in said


def test_unseen_characters_that_the_spec_has_already_may_stay() -> None:
    """An emoji with its selector in a quoted passage is nobody's attack."""
    spec = "Shows \u26a0\ufe0f when late.\n"
    said = read_refinement(reply(("\u26a0\ufe0f when late", "\u26a0\ufe0f after 3 s")), spec)
    assert isinstance(said, Refinement)


def test_line_ends_of_the_spec_are_kept() -> None:
    """An agent answers with line feeds; a spec from Windows keeps its own."""
    said = read_refinement(reply(("b\nc", "b\nx\nc")), "a\r\nb\r\nc\r\n")
    assert isinstance(said, Refinement)
    assert edited_spec("a\r\nb\r\nc\r\n", said.edits) == "a\r\nb\r\nx\r\nc\r\n"


def test_criteria_that_an_edit_would_remove_are_named() -> None:
    """Ids that tests name do not go away unseen."""
    old = "# A\n\n## Criteria\n\n- A-1: Given a, when b, then c\n- A-2: Given a, when b, then d\n"
    assert lost_criteria("specs/a.md", old, old.replace("A-2", "A-3")) == ["A-2"]


lines = st.lists(
    st.sampled_from(["a", "b", "c d", "", "--- a/x", "+++ b/y", "@@ -1 +1 @@", "é\u2028f"]), max_size=12
)


@settings(max_examples=examples(15), deadline=None)
@given(
    lines, lines, st.booleans(), st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["s/a.md", 's/o dd "\\é.md', "s/t\tb.md"]),
    st.text(max_size=80),
)  # fmt: skip
def test_git_applies_the_patch_to_the_very_text(tmp_path_factory, old, new, ends, end, path, words) -> None:
    """`git apply` makes the proposed spec, byte by byte, whatever stands in the words above the patch."""
    before, after = (end.join([*text, "last"]) + (end if ends else "") for text in (old, new))
    if before == after:
        return
    top = tmp_path_factory.mktemp("apply")
    (top / "s").mkdir()
    (top / path).write_bytes(before.encode())
    hostile = f"{words}\n--- a/evil\n+++ b/evil\n@@ -0,0 +1 @@\n+evil\n"
    said = Refinement((SpecEdit(before, after, hostile),), (hostile,))
    clean = Refinement(said.edits, tuple(" ".join(q.split()) for q in said.questions))
    (top / "p.patch").write_bytes(proposal_text(path, before, clean).encode("utf-8", "replace"))
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    subprocess.run(["git", "apply", "p.patch"], cwd=top, check=True)
    assert (top / path).read_bytes() == edited_spec(before, said.edits).encode()
    assert sorted(one.name for one in top.iterdir() if one.name != ".git") == ["p.patch", "s"]
