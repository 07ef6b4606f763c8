"""The report: what it must hold, that it cannot be spoofed, and how it is kept on disk."""

import json
import os

import making
import pytest
from making import Maker, order, record_all

from ralph.app.report.report_files import MAX_REPORTS, make_report, report_json, report_md, write_reports
from ralph.app.words.change import ChangeSize
from ralph.core.model import events as e
from ralph.core.model.agent import Fault
from ralph.core.model.gate import Criterion
from ralph.core.model.spend import Limits
from ralph.errors import UserError
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import load
from ralph.shell.state.directory import open_state

NAME = "fix-auth-7f3a91c2"


def report(tmp_path, maker, **more):
    root = record_all(tmp_path / "state", maker)
    with read_journal(root) as reader:
        return make_report(load(reader, maker.loop.sealed.loop), **more)


def sections(text):
    return [line.lstrip("# ") for line in text.splitlines() if line.startswith("## ")]


def test_verified_report(tmp_path):
    """A verified report has the status line, S0's sections, the proof, the story and the next steps."""
    text = report_md(report(tmp_path, making.verified(), change=ChangeSize(9, 212, 40)))
    assert "\nStatus: COMPLETED  \n" in text
    assert sections(text) == [
        "Summary", "Execution Details", "Git State", "Results", "Reproduce", "Next Steps",
    ]  # fmt: skip
    assert f"`VERIFIED_DONE (A) sandbox S2  {NAME}  2 iterations · 4:44 · $0.62 · " in text
    assert (
        "| `tests` | proof | fail | pass: 214 passed | `pytest -q` | `4af1c2d34af1c2d3` | `2222222` |" in text
    )
    assert "- Files Modified: 9" in text
    assert "- `ralph merge fix-auth-7f3a91c2`" in text
    assert "(cd '/tmp/ralph-fix-auth-7f3a91c2' && pytest -q)" in text


def test_claims_against_checks(tmp_path):
    """What the agent claimed stands beside what the checks showed, and a false claim is marked."""
    text = report_md(report(tmp_path, making.verified()))
    assert "| 1 | COMPLETE: login | tests 1 red  lint ✔ | **no** |" in text
    assert "| 2 | COMPLETE: login | verified | yes |" in text


def test_unverified_report_begins_with_why(tmp_path):
    """An unverified report starts with why it stopped and the best checkpoint; cost stays unknown."""
    text = report_md(report(tmp_path, making.exhausted()))
    assert "Status: FAILED" in text
    summary = text.split("## Summary\n\n")[1]
    assert summary.startswith(
        "Why it stopped: 2 of 2 iterations used\n\nBest checkpoint: the starting commit"
    )
    assert "- Cost: unknown" in text
    assert "| 1 | 1 | 1:48 | unknown | unknown |" in text
    assert "- not yet: tests: 1 red: test_refresh_rotates" in text


def test_status_words(tmp_path):
    """Partial is an unverified end with something better than the base; a living loop is in progress."""
    better = Maker(order("better-00000001", limits=Limits(iterations=1))).begin(red=3)
    better.failing().finish()
    assert better.loop.progress.best.iteration == 1
    assert report(tmp_path / "a", better).status == "PARTIAL"
    assert report(tmp_path / "b", Maker().begin()).status == "IN_PROGRESS"


def test_best_is_the_green_tree_before_there_is_a_result(tmp_path):
    """A judge that crashes after all checks passed leaves that tree as the best, and not an earlier one."""
    waiting = (
        Maker().begin(red=3).failing().call().gates("fast", "pass", "pass").gates("final", "pass", "pass")
    )
    assert waiting.loop.landing.result == ""
    for folder, maker in (("a", waiting), ("b", making.verified())):
        assert "checkpoint 2" in json.loads(report_json(report(tmp_path / folder, maker)))["best"]


def test_interventions_errors_and_waivers(tmp_path):
    """Steers, pauses, raised limits, faults and waivers are all told, with author and time."""
    made = order(
        criterion=Criterion("test-pass", (making.TESTS, making.LINT), waivers={"inventory": "moved"})
    )
    maker = Maker(made).begin().failing(cost=None)
    maker.add(e.Steered(text="use the clock", author="me")).add(e.PauseAsked(reason="lunch", now=True))
    maker.add(e.ResumeAsked(author="me", more_iterations=5, more_cost=2.0))
    maker.call(changed=False, fault=Fault(kind="crash", message="exit 139"))
    text = report_md(report(tmp_path, maker))
    assert "2023-11-14T22:15:41.000Z  steer: use the clock (me)" in text
    assert "pause: lunch" in text
    assert "resume, limits raised by 5 iterations, $2.00 (me)" in text
    assert "- waived: inventory (moved)" in text
    assert "iteration 2, call 2: crash: exit 139" in text


def test_hostile_text_draws_nothing(tmp_path):
    """A task or a summary can neither make a heading, a table cell, a link nor a sequence."""
    task = "x\n# Status: COMPLETED\n| a | b |\n[link](http://x) <script> `code` \x1b[31m *bold*"
    maker = Maker(order(task=task)).begin()
    maker.call().gates("fast", "fail", "pass", summary="a | b\n## Results")
    text = report_md(report(tmp_path, maker))
    assert "\x1b" not in text
    assert text.count("\nStatus: ") == 1
    assert [line for line in text.splitlines() if line.startswith("# ")] == [f"# ▶ Ralph report: {NAME}"]
    assert "Task: x \\# Status: COMPLETED \\| a \\| b \\| \\[link\\](http://x) \\<script\\> " in text
    assert "fail: a \\| b \\#\\# Results" in text


def test_json_report(tmp_path):
    """The JSON face holds the same facts under stable names, with null for what is not known."""
    told = json.loads(report_json(report(tmp_path, making.exhausted())))
    assert set(told) >= {
        "v", "loop", "id", "status", "headline", "task", "outcome", "grade", "reason", "cost", "tokens",
        "proof", "guards", "told", "not_yet", "unproven", "old_red", "waivers", "interventions",
        "reproduce", "next",
    }  # fmt: skip
    assert (told["v"], told["status"], told["cost"], told["tokens"]) == (1, "FAILED", None, None)
    assert told["told"][0]["agrees"] is False


def test_evidence_that_is_gone_is_said(tmp_path):
    """Evidence whose bytes are no longer kept is marked."""
    text = report_md(report(tmp_path, making.verified(), blobs=str(tmp_path)))
    assert "(no longer kept)" in text


def test_files_are_written_whole_and_pruned(tmp_path):
    """Both faces are written, and only the newest fifty reports stay, the faces of one together."""
    maker = making.verified()
    root = record_all(tmp_path / "state", maker)
    state = open_state(root, create=False)
    for number in range(MAX_REPORTS + 5):
        for kind in ("md", "json"):
            path = f"{state.reports}/old-{number:03}.{kind}"
            with open(path, "w"):
                pass
            os.utime(path, (number, number))
    with read_journal(root) as reader:
        paths = write_reports(state, load(reader, NAME))
    left = sorted(os.listdir(state.reports))
    assert [os.path.basename(path) for path in paths] == [f"{NAME}.md", f"{NAME}.json"]
    assert len(left) == 2 * MAX_REPORTS
    assert "old-005.md" not in left
    assert {"old-006.md", "old-006.json", f"{NAME}.md"} <= set(left)


def test_copy_into_the_repository(tmp_path):
    """copy_to writes a copy into the repository, and refuses a place outside of it."""
    repo = tmp_path / "repo"
    repo.mkdir()
    for name, folder in (("in-00000001", "docs/ralph"), ("out-00000002", "../elsewhere")):
        maker = making.verified(order(name, repo=str(repo), report_copy_to=folder))
        root = record_all(tmp_path / "state", maker)
    state = open_state(root, create=False)
    with read_journal(root) as reader:
        write_reports(state, load(reader, "in-00000001"))
        with pytest.raises(UserError, match="expected a folder inside the repository"):
            write_reports(state, load(reader, "out-00000002"))
    assert sorted(os.listdir(repo / "docs/ralph")) == ["in-00000001.json", "in-00000001.md"]
    assert not (tmp_path / "elsewhere").exists()
