"""The HTML report: one page, everything in it, nothing in it that runs, and a browser agrees."""

import html.parser
import shutil
import subprocess
from pathlib import Path

import making
import pytest
from making import Maker, order, record_all

from ralph.app.report.page import MAX_DIFF_LINES, diff_lines, report_page
from ralph.app.report.report_files import make_report
from ralph.core.model.spend import Limits
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import load

PATCH = """diff --git a/calc.py b/calc.py
index 1111111..2222222 100644
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@ def add(a, b):
--- a removed line that looks like a header
+    return a + b  # <script>alert(1)</script>
"""
HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(1)>"


def page_of(tmp_path, maker, diff=lambda _before, _after: PATCH):
    root = record_all(tmp_path / "state", maker)
    with read_journal(root) as reader:
        record = load(reader, maker.loop.sealed.loop)
    return report_page(record, make_report(record), diff)


class Tags(html.parser.HTMLParser):
    """Which elements a page has, and every address in it."""

    def __init__(self, page):
        super().__init__()
        self.names, self.addresses, self.handlers = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "srcset")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def test_all_faces_say_the_same(tmp_path):
    """Task, proof, iterations, claims, spend and next steps of the report are in the page."""
    page = page_of(tmp_path, making.verified())
    for words in (
        "fix the failing auth tests", "grade A", "pass: 214 passed", "pytest -q", "Iteration 1,",
        "Iteration 2,", "They disagree.", "$0.31", "ralph merge fix-auth-7f3a91c2", "Red to green",
        "Timeline",
    ):  # fmt: skip
        assert words in page, words
    assert "return a + b" in page


def test_nothing_in_the_page_runs_or_is_fetched(tmp_path):
    """Hostile words stay words: no script, no handler, no address, and a policy that says so."""
    maker = Maker(order(task=HOSTILE)).begin(red=3).failing()
    tags = Tags(page_of(tmp_path, maker))
    assert not {"script", "img", "iframe", "link", "object", "form", "a"} & set(tags.names)
    assert tags.addresses == []
    assert tags.handlers == []
    assert "default-src 'none'" in page_of(tmp_path / "again", making.verified())


def test_unknown_is_not_zero(tmp_path):
    """Costs and counts that nobody reported are shown as unknown, in tables and in the chart."""
    page = page_of(tmp_path, making.exhausted())
    assert "<td>unknown</td>" in page
    assert "$0.00" not in page
    error = Maker(order("broken-00000001", limits=Limits(iterations=1))).begin(tests="error")
    assert ">?</text>" in page_of(tmp_path / "b", error.failing().finish())


def test_a_patch_by_lines():
    """Headers between a file's name and its first hunk go; a removed line that looks like one stays."""
    lines = diff_lines(PATCH)
    assert [line.kind for line in lines] == ["file", "hunk", "removed", "added"]
    assert lines[0].text == "calc.py"
    assert diff_lines("diff --git a/x b/y\nrename from x\n")[0].text == "a/x b/y"


def test_long_diffs_are_cut_and_say_so(tmp_path):
    """A diff of many lines is cut, with the command that shows it whole."""
    long = PATCH + "+x\n" * (MAX_DIFF_LINES + 50)
    page = page_of(tmp_path, making.verified(), lambda _before, _after: long)
    assert "54 more lines: ralph diff fix-auth-7f3a91c2 --iteration 1" in page


@pytest.mark.slow
def test_a_browser_shows_it_without_network_and_finds_it_accessible(tmp_path):
    """In a real Chromium, light and dark: no violation of the accessibility rules, no console error."""
    chromium = shutil.which("chromium")
    assert chromium, "chromium is missing: tools/system.sh installs it (as root)"
    import axe_core_python

    axe = Path(axe_core_python.__path__[0], "axe.min.js").read_text(encoding="utf-8")
    page = page_of(tmp_path, making.verified())
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    ask = (
        "axe.run().then(r => { document.title = 'asked'; const p = document.createElement('pre');"
        "p.id = 'violations'; p.textContent = JSON.stringify(r.violations.map("
        "v => [v.id, v.nodes.map(n => n.html)])); document.body.append(p); });"
    )
    # Only for the question, the copy may run a script: the page itself forbids that.
    policy = page[page.index('<meta http-equiv="Content-Security-Policy"') :]
    policy = policy[: policy.index(">") + 1]
    asked = page.replace(policy, "").replace(
        "</body>", f"<script>{axe}</script><script>{ask}</script></body>"
    )
    (tmp_path / "asked.html").write_text(asked, encoding="utf-8")
    for scheme in ("0", "1"):  # dark, light
        done = subprocess.run(
            [
                chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={tmp_path}/profile-{scheme}",
                f"--blink-settings=preferredColorScheme={scheme}",
                "--virtual-time-budget=20000", "--dump-dom", f"file://{tmp_path}/asked.html",
            ],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        found = done.stdout.split('<pre id="violations">')[1].split("</pre>")[0]
        assert found == "[]", found
