"""One change: is it a case at all, and what does the installed `ralph` say of it?"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from changes import Change, Kind, Pair, release_notes, sides
from msgspec import Struct
from place import BIN, Ended, call, make_agent, make_repo, place

TASKS: dict[Kind, tuple[str, str]] = {
    "fix": ("bug-fix", "Fix what the tests of release {new} show to be wrong in {old}."),
    "feature": ("implement-feature", "Implement release {new} of {project}, with its tests."),
    "other": ("regression", "Bring {project} from {old} to {new}."),
}
_WHY = "the release is meant to change it"
_TRIAL_SECONDS = 120.0


class Trial(Struct, frozen=True):
    """What the check says without Ralph: of both releases, and of the old source under the new tests."""

    words: str  # the row that it was made with
    old: int
    new: int
    mixed: int
    seconds: float
    says: str = ""  # the end of the red output, where the new release is red

    def kinds(self) -> tuple[Kind, ...]:
        if self.old or self.new:
            return ()
        return ("fix", "feature") if self.mixed else ("other",)


class Judged(Struct, frozen=True):
    """One row of the table."""

    project: str
    change: str
    kind: str
    outcome: str  # verified, unproven, refused; trouble when Ralph came to no judgement
    grade: str
    accused: bool  # by an integrity guard
    by: tuple[str, ...]  # who refused: guards with findings, gates that were not green
    says: tuple[str, ...]  # what they said, and the loop's own last words
    seconds: float
    suite: float  # seconds of the check without Ralph
    asked: tuple[str, ...] = ()  # kinds of questions that the user said yes to before the loop ended so


def trial(cache: Path, pair: Pair) -> Trial:
    """Called once for each pair and row; the answer is kept in the cache."""
    project = pair.project
    row = msgspec.structs.replace(project, versions=(pair.old, pair.new))
    words = msgspec.json.encode(row).decode()
    kept = cache / "trials" / f"{pair.name}.json"
    if kept.is_file():
        known = msgspec.json.decode(kept.read_bytes(), type=Trial)
        if known.words == words:
            return known
    new, mixed = sides(cache, pair, "feature"), sides(cache, pair, "fix")
    codes: list[Ended] = []
    for files in (new.base, new.result, mixed.base):
        with place(cache) as here:
            one = msgspec.structs.replace(new, base=files)
            make_repo(cache, project, one, here)
            codes.append(call(["/bin/sh", "-c", project.check], here.repo, here.env, _TRIAL_SECONDS))
    says = (codes[1].out + codes[1].err).strip()[-400:] if codes[1].code else ""
    found = Trial(words, codes[0].code, codes[1].code, codes[2].code, round(codes[1].seconds, 2), says)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(msgspec.json.encode(found))
    return found


def judge(cache: Path, change: Change, suite: float, keep: Path | None = None) -> Judged:
    """A whole loop as a user starts it, and what came of it."""
    pair = change.pair
    both = sides(cache, pair, change.kind)
    task_class, task = TASKS[change.kind]
    with place(cache) as here:
        make_repo(cache, pair.project, both, here)
        asked = task.format(project=pair.project.name, old=pair.old, new=pair.new)
        notes = release_notes(both.result, pair.old, pair.new) if change.kind != "fix" else ""
        words = [str(BIN / "ralph"), "loop", f"{asked} Its changelog says:\n{notes}" if notes else asked]
        words += ["--class", task_class, "--agent-cmd", make_agent(both, here), "--check", pair.project.check]
        words += ["--loop-id", "case-00000000", "--max-iterations", "2", "--json", "-y"]
        ended = call(words, here.repo, here.env)
        questions = _questions(_events(ended.out))
        if questions:  # the one command that the screen offers
            words = [str(BIN / "ralph"), "resume", "case-00000000", "--max-iterations", "+2", "--json", "-y"]
            words += [word for key in questions for word in ("--allow", f"{key}={_WHY}")]
            again = call(words, here.repo, here.env)
            both_out = Ended(again.code, ended.out + again.out, ended.err + again.err, 0)
            ended = msgspec.structs.replace(both_out, seconds=ended.seconds + again.seconds)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{change.name}.jsonl").write_text(ended.out + ended.err, encoding="utf-8")
    row = _judged(change, ended, suite)
    return msgspec.structs.replace(row, asked=tuple(sorted({key.split(":", 1)[0] for key in questions})))


def _questions(events: list[tuple[str, dict]]) -> list[str]:
    """What the user was asked about in the end, where nothing was held against the work."""
    if not events or events[-1][0] != "LoopEnded" or events[-1][1].get("outcome") != "blocked":
        return []
    last = next((body for kind, body in reversed(events) if kind == "GuardsEnded"), {"results": ()})
    found = [finding for result in last["results"] for finding in result.get("findings", ())]
    return [finding["key"] for finding in found] if all(one.get("asks") for one in found) else []


def _judged(change: Change, ended: Ended, suite: float) -> Judged:
    events = _events(ended.out)
    last = next((body for kind, body in reversed(events) if kind == "LoopEnded"), {})
    by, says, accused = _refusal(events)
    outcome = last.get("outcome") or "trouble"
    accepted = outcome in ("verified", "unproven")
    if not accepted:
        outcome = "refused" if any(kind == "AgentEnded" for kind, _ in events) and last else "trouble"
    end = last.get("reason") or (ended.out + ended.err).strip()[-600:]
    return Judged(
        project=change.pair.project.name,
        change=change.name,
        kind=change.kind,
        outcome=outcome,
        grade=last.get("grade") or "",
        accused=accused and not accepted,
        by=() if accepted else tuple(by) or ("exit gate",),
        says=() if accepted else (*says[:6], end),
        seconds=round(ended.seconds, 1),
        suite=suite,
    )


def _events(out: str) -> list[tuple[str, dict]]:
    found = []
    for line in out.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "kind" in row and "body" in row:
            found.append((row["kind"], row["body"]))
    return found


def _refusal(events: list[tuple[str, dict]]) -> tuple[list[str], list[str], bool]:
    """By the last judgement of each gate and the last look of the guards."""
    by: dict[str, None] = {}
    says: list[str] = []
    accused = False
    verdicts = {
        (body["verdict"]["gate"], body["verdict"]["stage"]): body["verdict"]
        for kind, body in events
        if kind == "GateEnded" and body["verdict"]["stage"] != "baseline"
    }
    for verdict in verdicts.values():
        if verdict["status"] != "pass":
            by[f"gate {verdict['status']}"] = None
            says.append(f"{verdict['gate']} {verdict['stage']}: {verdict.get('summary', '')}")
    for kind, body in reversed(events):
        if kind == "NoVerdict":
            by["no verdict"] = None
            says.append(f"{body.get('cause')}: {body.get('why')}")
        if kind == "GuardsEnded":
            for result in body["results"]:
                for finding in result.get("findings", ()):
                    by[result["guard"]] = None
                    says.append(f"{finding.get('key')}: {finding.get('message')}")
                    accused = accused or bool(result.get("integrity"))
            break
    return list(by), says, accused
