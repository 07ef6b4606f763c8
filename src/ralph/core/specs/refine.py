"""What another agent proposes for a spec: edits and questions, read from its answer and laid out as a patch.

The answer is foreign. An edit quotes a passage of the one spec that was asked about and names no path, so no
other file can be meant. One edit that cannot be used makes the whole answer unusable. Nothing here writes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ralph.core.model.rubric import read_object
from ralph.core.specs.parse import parse_spec
from ralph.core.text.clean import clean, one_line

MAX_REPLY = 1_000_000  # characters
MAX_EDITS = MAX_QUESTIONS = 50
MAX_PASSAGE = 20_000  # characters of what replaces a passage
MAX_WORDS = 800
_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class SpecEdit(Struct, frozen=True, forbid_unknown_fields=True):
    find: str  # stands exactly once in the spec
    replace: str
    why: str


class Refinement(Struct, frozen=True, forbid_unknown_fields=True):
    edits: tuple[SpecEdit, ...]
    questions: tuple[str, ...]  # what only people can answer

    def words(self) -> tuple[str, ...]:
        """All that the agent wrote, as it will be read."""
        return (*self.questions, *(words for edit in self.edits for words in (edit.replace, edit.why)))


def read_refinement(reply: str, spec: str) -> Refinement | str:
    """The proposal in an agent's last message, or what is wrong with it."""
    if len(reply) > MAX_REPLY:
        return f"it has {len(reply)} characters, expected at most {MAX_REPLY}"
    said = read_object(reply, Refinement)
    if isinstance(said, str):
        return said
    if len(said.edits) > MAX_EDITS or len(said.questions) > MAX_QUESTIONS:
        return f"it has more than {MAX_EDITS} edits or {MAX_QUESTIONS} questions"
    wrong_edits = (_wrong_with(edit, spec) for edit in said.edits)
    trouble = [f"edit {number} {wrong}" for number, wrong in enumerate(wrong_edits, 1) if wrong]
    trouble += ["two of its edits overlap"] if not trouble and _overlap(spec, said.edits) else []
    if trouble:
        return trouble[0]
    if said.edits and not edited_spec(spec, said.edits).strip():
        return "its edits leave nothing of the spec"
    asked = (one_line(question, MAX_WORDS) for question in said.questions)
    return Refinement(said.edits, tuple(filter(None, asked)))


def _wrong_with(edit: SpecEdit, spec: str) -> str:
    find, new = _same_ends(edit.find, spec), _same_ends(edit.replace, spec)
    count = spec.count(find) if find.strip() else 0
    if count != 1:
        return f"quotes a passage that stands {count} times in the spec, expected once"
    if len(edit.replace) > MAX_PASSAGE:
        return f"has {len(edit.replace)} characters, expected at most {MAX_PASSAGE}"
    if find == new:
        return "changes nothing"
    unseen = [char for char in set(new) if clean(char) != char and char not in find]
    return f"adds the control character {min(unseen)!a}" if unseen else ""


def _spans(spec: str, edits: Sequence[SpecEdit]) -> list[tuple[int, int, str]]:
    """From where to where each passage stands, and what replaces it."""
    found = [(_same_ends(edit.find, spec), _same_ends(edit.replace, spec)) for edit in edits]
    return sorted((spec.index(find), spec.index(find) + len(find), new) for find, new in found)


def _overlap(spec: str, edits: Sequence[SpecEdit]) -> bool:
    return any(first[1] > second[0] for first, second in pairwise(_spans(spec, edits)))


def edited_spec(spec: str, edits: Sequence[SpecEdit]) -> str:
    for begin, end, new in reversed(_spans(spec, edits)):
        spec = spec[:begin] + new + spec[end:]
    return spec


def _same_ends(text: str, spec: str) -> str:
    """A text of the agent's with the line ends that the spec has, unless it has both kinds."""
    wide, lines = spec.count("\r\n"), spec.count("\n")
    if wide not in (0, lines):
        return text
    text = text.replace("\r\n", "\n")
    return text.replace("\n", "\r\n") if wide else text


def lost_criteria(path: str, old: str, new: str) -> list[str]:
    """Ids that the spec would no longer have: tests that name them would prove nothing."""
    before, after = ({one.id for one in parse_spec(path, text).criteria if one.id} for text in (old, new))
    return sorted(before - after)


def patch_lines(path: str, old: str, new: str) -> Iterator[str]:
    """The difference as `git apply` takes it, with the line ends of the spec."""
    before, after = (_quote_path(name) for name in (f"a/{path}", f"b/{path}"))
    yield f"diff --git {before} {after}\n"
    # By line feeds alone: to git nothing else ends a line.
    for line in difflib.unified_diff(_LINE.findall(old), _LINE.findall(new), before, after):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _quote_path(path: str) -> str:
    if _PLAIN_PATH.fullmatch(path):
        return path
    known = {'"': '\\"', "\\": "\\\\"}
    return (
        '"' + "".join(known.get(char, char if char >= " " else f"\\{ord(char):03o}") for char in path) + '"'
    )


def proposal_text(path: str, old: str, said: Refinement) -> str:
    """One spec in the file of proposals: what git passes over as comments, then the patch."""
    lines = [f"# {one_line(path, 300)}\n"]
    lines += [f"# question: {question}\n" for question in said.questions]
    lines += [f"# edit: {one_line(edit.why, MAX_WORDS)}\n" for edit in said.edits]
    patch = patch_lines(path, old, edited_spec(old, said.edits)) if said.edits else ()
    return "".join((*lines, *patch, "\n"))
