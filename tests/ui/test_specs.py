"""`ralph specs`, as a user meets it."""

import json
import os
import stat

import pytest

from ralph.shell.plan import spec_files

GOOD = """\
# Log in

Job: When somebody comes back, they want to log in, so that they see their own data.

## Criteria

- AUTH-1: Given a person, when they log in, then their page is shown

## Edge cases

- AUTH-2: Given an empty form, when it is sent, then nothing changes
- AUTH-3: Given a locked account, when it is used, then "locked" is shown
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a folder to stand in."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(project, name, text=GOOD):
    path = project / "specs" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_new_spec(ralph, project):
    """A template is written under the next number, and says what to do with it."""
    put(project, "07-other.md")
    code, out, err = ralph("specs", "new", "Log in")
    assert (code, err) == (0, "")
    assert out == "wrote specs/08-log-in.md\n  fill it in, then  ralph specs check specs/08-log-in.md\n"
    text = (project / "specs" / "08-log-in.md").read_text(encoding="utf-8")
    assert text.startswith("# Log in\n")
    assert "### LOG-IN-1: " in text
    assert ralph("specs", "check", "specs/08-log-in.md")[0] == 1
    assert json.loads(ralph("specs", "new", "Log out", "--json")[1]) == {
        "v": 1,
        "path": "specs/09-log-out.md",
    }


def test_new_spec_from_a_folder_below(ralph, project, monkeypatch):
    """The spec belongs to the project; the path is printed as one would type it here."""
    monkeypatch.chdir(project / "sub")
    code, out, _ = ralph("specs", "new", "a")
    assert (code, out.splitlines()[0]) == (0, "wrote ../specs/01-a.md")
    assert ralph("specs", "check", "../specs/01-a.md")[1].startswith("../specs/01-a.md:3: ")


def test_nothing_is_replaced(ralph, project):
    """A spec of that name stays as it is, whatever its number; so does whatever stands in the way."""
    path = put(project, "03-log-in.md")
    code, _, err = ralph("specs", "new", "Log  in!")
    assert (code, path.read_text(encoding="utf-8")) == (2, GOOD)
    assert "there is a spec 'log-in' already  [E-SPEC-EXISTS]" in err
    os.symlink(project / "nowhere", project / "specs" / "05-x.md")
    assert ralph("specs", "new", "y")[0] == 0
    assert not (project / "nowhere").exists()
    assert sorted(os.listdir(project / "specs")) == ["03-log-in.md", "05-x.md", "06-y.md"]


def test_a_name_without_letters(ralph, project):
    """A name that makes no file name is refused, and nothing is written."""
    code, _, err = ralph("specs", "new", "!!!")
    assert (code, "E-SPEC-NAME" in err, (project / "specs").exists()) == (2, True, False)


def test_ids_of_strange_names():
    """The ids of a new spec begin with a letter, part by part."""
    assert spec_files.prefix_of("log-in-again-now") == "LOG-IN-AGAIN"
    assert spec_files.prefix_of("2fa") == "N2FA"


def test_good_specs(ralph, project):
    """Specs that are fit to work by are said to be, with exit code 0."""
    put(project, "01-log-in.md")
    put(project, "README.md", "no spec")
    put(project, "notes.txt", "no spec")
    assert ralph("specs", "check") == (0, "1 spec, 3 criteria: ready\n", "")


def test_bad_specs(ralph, project):
    """Each finding has its file, line and rule; the exit code is 1."""
    put(project, "01-log-in.md", GOOD.replace("their page is shown", "it works well"))
    put(
        project,
        "02-log-out.md",
        GOOD.replace("AUTH-2", "OUT-2").replace("AUTH-3", "OUT-3").replace("a person", "a mutex"),
    )
    code, out, err = ralph("specs", "check")
    assert (code, err) == (1, "")
    assert out == (
        "specs/01-log-in.md:7: no check can decide 'works well'  [spec-vague]\n"
        "specs/02-log-out.md:7: advice: 'mutex' tells how, a spec tells what  [spec-detail]\n"
        "specs/02-log-out.md:7: criterion 'AUTH-1' is also at specs/01-log-in.md:7  [spec-duplicate]\n"
        "2 specs, 6 criteria: 2 to fix, 1 of advice\n"
    )


def test_advice_alone_is_fine(ralph, project):
    """Advice is shown and changes no exit code."""
    put(project, "log-in.md")
    code, out, _ = ralph("specs", "check")
    assert (code, out.splitlines()[-1]) == (0, "1 spec, 3 criteria: ready, 1 of advice")


def test_json(ralph, project):
    """One object with the specs, their criteria and the findings."""
    put(project, "01-log-in.md", GOOD.replace("their page is shown", "it works well"))
    code, out, err = ralph("specs", "check", "specs", "--json")
    assert (code, err) == (1, "")
    assert json.loads(out) == {
        "v": 1,
        "passed": False,
        "specs": [
            {
                "path": "specs/01-log-in.md",
                "topic": "Log in",
                "criteria": [
                    {"id": f"AUTH-{n}", "line": line, "title": ""} for n, line in ((1, 7), (2, 11), (3, 12))
                ],
                "edge_cases": 2,
            }
        ],
        "findings": [
            {
                "path": "specs/01-log-in.md",
                "line": 7,
                "rule": "spec-vague",
                "severity": "P1",
                "message": "no check can decide 'works well'",
            }
        ],
        "skipped": [],
    }


def test_no_specs(ralph, project):
    """Nothing to check is exit 6 with a command that begins one; a wrong path is exit 2."""
    code, _, err = ralph("specs", "check")
    assert (code, "ralph specs new" in err) == (6, True)
    assert ralph("specs", "check", "nope.md")[0] == 2
    assert ralph("specs", "check", "../..")[0] == 2
    assert json.loads(ralph("specs", "check", "--json")[1])["error"]["kind"] == "nothing_to_do"


def test_hostile_files(ralph, project, tmp_path_factory):
    """Links that lead out, pipes, torn text and huge files are named and never followed or waited for."""
    secret = tmp_path_factory.mktemp("outside") / "secret.md"
    secret.write_text("# secret words", encoding="utf-8")
    put(project, "01-good.md")
    os.symlink(secret, project / "specs" / "02-link.md")
    os.mkfifo(project / "specs" / "03-pipe.md")
    (project / "specs" / "04-torn.md").write_bytes(b"# a\n\xff\xfe")
    with open(project / "specs" / "05-huge.md", "wb") as file:
        file.truncate(spec_files.MAX_BYTES + 1)
    (project / "specs" / "06-folder.md").mkdir()
    code, out, err = ralph("specs", "check")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "'specs/02-link.md' is a link that leads out of the project",
        "'specs/03-pipe.md' is not a regular file",
        "'specs/04-torn.md' is not valid UTF-8 (line 2)",
        f"'specs/05-huge.md' is larger than {spec_files.MAX_BYTES} bytes",
        "'specs/06-folder.md' is not a regular file",
        "1 spec, 3 criteria: 5 to fix",
    ]


def test_a_specs_folder_that_leads_out(ralph, project, tmp_path_factory):
    """A folder that is a link out of the project is neither read nor written."""
    outside = tmp_path_factory.mktemp("outside")
    os.symlink(outside, project / "specs")
    assert ralph("specs", "check")[0] == 2
    assert ralph("specs", "new", "x")[0] == 2
    assert os.listdir(outside) == []


@pytest.mark.plain
def test_a_folder_that_cannot_be_written(ralph, project):
    """What the disk refuses is a setup error, not a bug."""
    os.chmod(project, stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert ralph("specs", "new", "x")[0] == 4
    finally:
        os.chmod(project, stat.S_IRWXU)


def test_terminal_text_is_cleaned(ralph, project):
    """Control sequences in a spec never reach the terminal."""
    put(
        project,
        "01-log-in.md",
        GOOD.replace("### ", "").replace("Given a person", "Given \x1b[31mmutex\x1b[0m"),
    )
    assert "\x1b" not in ralph("specs", "check")[1]


def test_reading_one_file(project):
    """A plan or a document is read with the same care, as text or as the reason why not."""
    (project / "IMPLEMENTATION_PLAN.md").write_bytes(b"\xef\xbb\xbf- [ ] x\n")
    assert spec_files.read_text(str(project), "IMPLEMENTATION_PLAN.md") == "- [ ] x\n"
    missing = spec_files.read_text(str(project), "nope.md")
    assert not isinstance(missing, str)
    assert (missing.code, missing.exit_code) == ("E-SPEC-FILE", 4)
