"""`ralph verify`, `bundle` and `keys` as users have them: where the loop was, elsewhere, and attacked."""

import base64
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from kit import Place, agent, ralph_argv, search_path, userstate

from ralph.core.attestation.statement import LoopPredicate
from ralph.shell.attestation import trust
from ralph.shell.attestation.envelope import seal
from ralph.ui.cli.tree import module_of

pytestmark = pytest.mark.slow


class Proven:
    """A verified loop, its bundle, and the people around it."""

    def __init__(self, top: Path, home: Path) -> None:
        self.top = top
        self.place = Place(top / "w", home, seen=home.parent / "protection.json")
        done = self.place.loop(agent("honest_steps", 1))
        self.loop = self.place.expect(done, "verified", 0, 1, grade="A")
        self.name = self.loop.sealed.loop
        self.tar = top / "proof.tar"
        made = self.place.ralph("bundle", self.name, "-o", str(self.tar))
        assert made.code == 0, made.report()

    def key(self, folder: Path) -> Path:
        """The signer's public key, as it would be handed on."""
        done = self.place.ralph("keys", "show")
        (folder / "signer.pem").write_text(done.out)
        return folder / "signer.pem"

    def parts(self) -> dict[str, bytes]:
        with tarfile.open(self.tar) as tar:
            return {entry.name: tar.extractfile(entry).read() for entry in tar}

    def resigned(self, edit) -> bytes:
        """The envelope after an edit, signed by the loop's own, trusted key: a signer who lies."""
        envelope = json.loads(self.parts()["envelope.dsse.json"])
        statement = json.loads(base64.b64decode(envelope["payload"]))
        edit(statement)
        return seal(json.dumps(statement).encode(), trust.signing_key(self.place.env(), 1_700_000_000.0))


@pytest.fixture(scope="module")
def proven(tmp_path_factory, home):
    made = Proven(tmp_path_factory.mktemp("proven"), home)
    yield made
    made.place.kill_all()


@pytest.fixture
def own(proven, tmp_path):
    """The user of the loop, with a copy of state and keys that a test may spoil."""
    shutil.copytree(proven.place.state, tmp_path / "state", symlinks=True)
    shutil.copytree(proven.place.config, tmp_path / "config", symlinks=True)
    env = {"RALPH_STATE_DIR": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return lambda *words, **more: proven.place.ralph(*words, env=env, **more)


@pytest.fixture
def stranger(proven, tmp_path):
    """Somebody else, in a folder without a repository, who has nothing of the loop."""
    folder = tmp_path / "elsewhere"
    for part in ("state", "config", "home", "empty"):
        (folder / part).mkdir(parents=True, mode=0o700)
    seen = proven.place.state / "protection.json"
    shutil.copy(seen, folder / "state")
    env = {"RALPH_STATE_DIR": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    env["HOME"] = str(folder / "home")

    def ralph(*words, cwd=None):
        return proven.place.ralph(*map(str, words), env=env, cwd=cwd or folder / "empty")

    return ralph


def retar(path: Path, parts: dict[str, bytes], extra: str = "") -> Path:
    """A bundle of these members with a manifest that fits them, as an attacker would make it."""
    listed = json.loads(parts["manifest.json"])
    listed["members"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in parts.items()
        if name != "manifest.json"
    }
    parts = {**parts, "manifest.json": json.dumps(listed).encode()}
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in [*parts.items(), *([(extra, b"evil")] if extra else [])]:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def says(done, code: int, *sentences: str) -> None:
    assert done.code == code, done.report()
    for sentence in sentences:
        assert sentence in done.out, f"missing: {sentence}\n{done.report()}"


def test_the_loops_own_user_verifies_by_loop_and_by_commit(proven, own):
    """Every gate is run again, the base is seen red again, and the repository is not touched."""
    for target in (proven.name, proven.loop.landing.branch, proven.loop.landing.result):
        known = () if target == proven.loop.landing.branch else ("--no-rerun",)
        done = own("verify", target, *known)
        says(done, 0, "✔ signature", "✔ trust", "✔ subject", "✔ gates", "✔ evidence", "VERIFIED: ", "grade A")
        if not known:
            says(done, 0, "✔ check...", "pass, as attested", "✔ check at base", "fail, as attested")
            says(done, 0, "- guards")
    proven.place.same_user()
    proven.place.no_process_left()


def test_a_third_person_verifies_a_bundle(proven, stranger, tmp_path):
    """The key inside a bundle never convinces: trusting it is a deed with an id to compare. Foreign commands
    are shown whole and need a yes by their hash. Nothing else of the loop's machine is needed then.
    """
    key = proven.key(tmp_path)
    done = stranger("verify", proven.tar, "--yes")
    told = ("✔ signature", "? trust", "the key is not trusted here", "NOT YET", "next: ralph keys trust")
    says(done, 3, *told)
    assert "check" not in done.out.split("trust")[0]
    trusted = stranger("keys", "trust", key, "--name", "them")
    says(trusted, 0, "as 'them'")
    keyid = trusted.out.split()[1]
    assert keyid in done.out
    says(stranger("verify", proven.tar, "--no-rerun"), 0, "trusted as 'them'", "gates NOT run again")
    asked = stranger("verify", proven.tar)
    says(asked, 3, "? approval", 'gate "check" runs python3 -m unittest', "without network")
    step = next(line for line in asked.out.splitlines() if "next: ralph approve" in line).split()[-1]
    says(stranger("approve", step), 0, "approved")
    says(stranger("verify", proven.tar), 0, "✔ check at base", "VERIFIED: bundle")
    says(stranger("keys", "distrust", "them"), 0, keyid)
    says(stranger("verify", proven.tar, "--no-rerun"), 3, "not trusted")
    assert not list((tmp_path / "elsewhere" / "state" / "loops").iterdir())


@pytest.mark.soak
def test_another_tree_is_refused(proven, own):
    """A proof of one tree is no proof of the base, nor of anything else."""
    says(own("verify", "main"), 1, "✘ attestation", "no attestation for its tree")
    done = own("verify", "main", "--proof", str(proven.tar))
    says(done, 1, "✔ trust", "✘ subject", "it is about tree", "NOT VERIFIED")
    assert "check at base" not in done.out


@pytest.mark.soak
def test_a_squashed_commit_with_the_same_tree_is_verified(proven, own):
    """The tree is the subject: another commit with it is proven too, and that is said."""
    git, tree = proven.place.git, f"{proven.loop.landing.result}^{{tree}}"
    squashed = git("commit-tree", tree, "-m", "squashed")
    says(
        own("verify", squashed, "--no-rerun"), 0, "squashed or rebased since", "VERIFIED: the files of commit"
    )


@pytest.mark.soak
def test_an_edited_envelope_is_refused(proven, own, stranger, tmp_path):
    """In the state directory and in a bundle whose manifest was made to fit: no gate runs."""
    path = tmp_path / "state" / "attestations" / f"{proven.name}.dsse.json"
    envelope = json.loads(path.read_text())
    payload = base64.b64decode(envelope["payload"]).replace(b'"grade":"A"', b'"grade":"B"')
    envelope["payload"] = base64.b64encode(payload).decode()
    path.write_text(json.dumps(envelope))
    says(own("verify", proven.name), 1, "✘ signature", "was edited", "NOT VERIFIED")
    edited = {**proven.parts(), "envelope.dsse.json": json.dumps(envelope).encode()}
    bad = retar(tmp_path / "bad.tar", edited)
    done = stranger("verify", bad, "--trust", proven.key(tmp_path), "--yes")
    says(done, 1, "✘ signature", "was edited")
    assert "as attested" not in done.out


def _swap(statement) -> None:
    statement["predicate"]["gates"][0].update(run="true", argv=["true"])


@pytest.mark.soak
def test_a_swapped_gate_is_refused(proven, own, stranger, tmp_path):
    """Even signed by the right key: the record of the loop, or its evidence, speaks against it."""
    swapped = proven.resigned(_swap)
    (tmp_path / "state" / "attestations" / f"{proven.name}.dsse.json").write_bytes(swapped)
    here = proven.resigned(lambda made: (_swap(made), made["predicate"]["gates"][0].update(sha256="0" * 64)))
    (tmp_path / "here.json").write_bytes(here)
    says(
        own("verify", proven.loop.landing.result, "--proof", str(tmp_path / "here.json")),
        1,
        "✘ gates",
        "check: not the gate",
    )
    bad = retar(tmp_path / "bad.tar", {**proven.parts(), "envelope.dsse.json": swapped})
    done = stranger("verify", bad, "--trust", proven.key(tmp_path), "--yes")
    says(done, 1, "✔ trust", "✘ evidence", "of another command")


@pytest.mark.soak
def test_a_gate_that_does_not_execute_what_it_names_is_refused(proven, stranger, tmp_path):
    """Shown is what runs: a statement whose words and arguments differ is not run, whoever signed it."""

    def edit(statement) -> None:
        statement["predicate"]["gates"][0]["argv"] = ["sh", "-c", "touch /tmp/evil"]
        for said in statement["predicate"]["verdicts"] + statement["predicate"]["baseline"]:
            said.update(evidence="", reading="")

    bad = retar(tmp_path / "bad.tar", {**proven.parts(), "envelope.dsse.json": proven.resigned(edit)})
    done = stranger("verify", bad, "--trust", proven.key(tmp_path), "--yes")
    says(done, 1, "✘ check", "not the command it names")


def test_a_signer_who_lies_is_found_out_by_running_the_gates(proven, stranger, tmp_path):
    """Signature, trust and subject hold, and the tests of that tree are red: not verified."""
    place = proven.place
    base = place.git("rev-parse", f"{proven.loop.landing.result}^")
    tree = place.git("rev-parse", f"{base}^{{tree}}")
    commit = place.git("commit-tree", tree, "-p", base, "-m", "nothing done")

    def edit(statement) -> None:
        statement["subject"][0]["digest"]["gitTree"] = tree
        statement["subject"][1]["digest"]["gitCommit"] = commit
        for said in statement["predicate"]["verdicts"]:
            said.update(tree=tree, evidence="", reading="")

    (tmp_path / "lie.json").write_bytes(proven.resigned(edit))
    clone = tmp_path / "clone"
    userstate.git(tmp_path, "clone", "-q", str(place.repo), str(clone))
    userstate.git(clone, "fetch", "-q", str(place.repo), commit)
    words = ("--proof", tmp_path / "lie.json", "--trust", proven.key(tmp_path), "--yes")
    says(
        stranger("verify", commit, *words, cwd=clone),
        1,
        "✔ subject",
        "✘ check",
        "fail here",
        "attested as pass",
    )


@pytest.mark.soak
def test_red_before_is_seen_again_and_a_false_word_about_it_is_refused(proven, stranger, tmp_path):
    """A statement that says the base was green, or hides that it was, does not match the base."""

    def edit(statement) -> None:
        statement["predicate"]["baseline"][0].update(status="pass", evidence="", reading="")

    bad = retar(tmp_path / "bad.tar", {**proven.parts(), "envelope.dsse.json": proven.resigned(edit)})
    done = stranger("verify", bad, "--trust", proven.key(tmp_path), "--yes")
    says(done, 1, "✔ check...", "✘ check at base", "attested as pass")


@pytest.mark.soak
@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "evidence/../../evil"])
def test_a_bundle_with_a_path_out_of_it_is_refused(proven, stranger, tmp_path, name):
    """Nothing of it is believed and nothing is written."""
    bad = retar(tmp_path / "bad.tar", proven.parts(), extra=name)
    done = stranger("verify", bad, "--trust", proven.key(tmp_path), "--yes")
    says(done, 1, "✘ bundle", "leads out of it", "NOT VERIFIED")
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.soak
def test_a_rotated_or_expired_key_counts_for_what_is_older(proven, own, stranger, tmp_path):
    """After a rotation the proof still holds; a key trusted until before the proof does not count."""
    key = proven.key(tmp_path)
    says(own("keys", "rotate"), 0, "rotated out", "signing with")
    says(own("keys", "list"), 0, "rotated: counts for older proofs")
    says(own("verify", proven.name, "--no-rerun"), 0, "✔ trust")
    late = proven.resigned(lambda made: made["predicate"].update(finished="2999-01-01T00:00:00Z"))
    (tmp_path / "late.json").write_bytes(late)
    done = own("verify", proven.loop.landing.result, "--proof", str(tmp_path / "late.json"))
    says(done, 1, "✘ trust", "was rotated before the statement was finished")
    says(stranger("keys", "trust", key, "--until", "2001-01-01"), 0)
    says(stranger("verify", proven.tar, "--yes"), 1, "✘ trust", "expired before")


@pytest.mark.soak
def test_a_note_carries_the_proof_through_git(proven, own, stranger, tmp_path):
    """Pushed and fetched as a note, the proof is found by the commit in somebody else's clone."""
    says(own("bundle", proven.name, "--note"), 0, "refs/notes/ralph")
    clone = tmp_path / "clone"
    userstate.git(tmp_path, "clone", "-q", str(proven.place.repo), str(clone))
    userstate.git(
        clone, "fetch", "-q", "origin", "refs/notes/ralph:refs/notes/ralph", proven.loop.landing.branch
    )
    done = stranger("verify", proven.loop.landing.result, "--trust", proven.key(tmp_path), "--yes", cwd=clone)
    says(done, 0, "✔ subject", "none here", "✔ check at base", "VERIFIED: commit")


@pytest.mark.soak
def test_a_hidden_check_is_seen_again_by_its_user_and_told_to_nobody_else(place, tmp_path):
    """Where the loop was it runs again; elsewhere a line says that it was not seen, and no word more."""
    check = tmp_path / "property_check.py"
    check.write_text("import sys; sys.path.insert(0, '.'); import calc; assert calc.add(20, 22) == 42\n")
    done = place.loop(agent("honest_steps", 1), "--hidden-check", f"python3 {check}")
    name = place.expect(done, "verified", 0, 1).sealed.loop
    tar = tmp_path / "proof.tar"
    says(place.ralph("bundle", name, "-o", str(tar)), 0, "left out: hidden")
    says(place.ralph("verify", name), 0, "✔ hidden...", "✔ hidden at base")
    with tarfile.open(tar) as packed:
        parts = {entry.name: packed.extractfile(entry).read() for entry in packed}
    told = base64.b64decode(json.loads(parts["envelope.dsse.json"])["payload"])
    assert b"property_check" not in told + b"".join(data for part, data in parts.items() if "/" in part)
    env = {"RALPH_STATE_DIR": str(tmp_path / "s"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    words = ("verify", str(tar), "--trust", str(tar), "--yes")
    says(place.ralph(*words, env=env, cwd=tmp_path), 0, "- hidden", "withheld (hidden)", "but not: hidden")


@pytest.mark.soak
def test_json_and_junit_say_the_same(proven, own, stranger, tmp_path):
    """One object with every check; a report that CI servers read, red when it is not verified."""
    good = json.loads(own("verify", proven.name, "--json").out)
    assert (good["v"], good["verified"], good["exit_code"], good["grade"]) == (1, True, 0, "A")
    assert [check["name"] for check in good["checks"]][:3] == ["signature", "trust", "subject"]
    report = tmp_path / "verify.xml"
    done = stranger("verify", proven.tar, "--json", "--junit", report)
    told = json.loads(done.out)
    assert (done.code, told["exit_code"]) == (3, 3)
    assert (told["verified"], told["grade"], told["tree"]) == (False, None, None)  # nothing of it is believed
    suite = ET.parse(report).getroot()
    assert suite.get("failures") == "1"
    assert [case.get("name") for case in suite.iter("testcase")] == ["signature", "trust"]


@pytest.mark.soak
def test_what_nobody_knows_is_a_wrong_use(proven, own, stranger):
    """Neither a file, nor a loop, nor a commit: exit code 2 and a next step; no private key is ever shown."""
    done = own("verify", "no-such-thing")
    assert (done.code, "E-VERIFY-TARGET" in done.err) == (2, True), done.report()
    assert stranger("verify", "HEAD").code == 2
    assert stranger("bundle", "no-such-loop").code == 2
    secret = next(Path(proven.place.config).rglob("signing.pem")).read_text().splitlines()[1]
    for words in (
        ("keys", "show"),
        ("keys", "list", "--json"),
        ("verify", proven.name, "--json", "--no-rerun"),
    ):
        assert secret not in own(*words).text
    state = b"".join(path.read_bytes() for path in proven.place.state.rglob("*") if path.is_file())
    assert secret.encode() not in state
    assert secret.encode() not in proven.tar.read_bytes()


def test_the_statement_tells_nothing_of_the_machine(proven):
    """No path of repository, home or state is in the signed words."""
    payload = base64.b64decode(json.loads(proven.parts()["envelope.dsse.json"])["payload"]).decode()
    for path in (proven.place.repo, proven.place.home, proven.place.state, os.path.expanduser("~")):
        assert f"{path}" not in payload, path


DOCS = Path(__file__).parents[2] / "docs" / "verify.md"


def block(kind: str) -> str:
    """The commands of the docs, as they stand there."""
    return DOCS.read_text().partition(f"<!-- tested: {kind} -->\n```\n")[2].partition("```")[0]


def shell(proven, script: str, cwd: Path, **more: str):
    """A script of the docs, with `ralph` on PATH as it is for users."""
    tools = cwd.parent / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "ralph").write_text(f'#!/bin/sh\nexec {shlex.join(ralph_argv())} "$@"\n')
    (tools / "ralph").chmod(0o755)
    env = proven.place.env(PATH=search_path(str(tools)), **more)
    argv = ["/bin/sh", "-eu", "-c", script]
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.soak
@pytest.mark.parametrize("brings", ["base", "request"])
def test_the_recipe_for_a_pull_request_works(proven, own, tmp_path, brings):
    """Green with the key of the base branch; a key that the request itself brings is never looked at."""
    says(own("bundle", proven.name, "--note"), 0)
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    userstate.git(tmp_path, "clone", "-q", str(proven.place.repo), str(clone))
    (clone / ".ralph").mkdir()
    shutil.copy(proven.key(tmp_path), clone / ".ralph" / "signer.pem")
    branch = "main" if brings == "base" else "request"
    userstate.git(clone, "checkout", "-q", "-B", branch)
    userstate.git(clone, "add", "-f", ".ralph/signer.pem")
    userstate.git(clone, "commit", "-q", "-m", "a key")
    userstate.git(tmp_path, "clone", "-q", "--bare", str(clone), str(origin))
    userstate.git(
        proven.place.repo, "push", "-q", str(origin), "refs/notes/ralph", proven.loop.landing.branch
    )
    ci = tmp_path / "ci"
    userstate.git(tmp_path, "clone", "-q", str(origin), str(ci))
    userstate.git(ci, "checkout", "-q", proven.loop.landing.result)
    names = {"BASE": "main", "HEAD_SHA": proven.loop.landing.result, "TEMP": str(tmp_path)}
    names |= {"RALPH_STATE_DIR": str(tmp_path / "s"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    done = shell(proven, block("ci"), ci, **names)
    if brings == "request":
        assert done.returncode == 128, done.stdout + done.stderr
        assert "signer.pem" in done.stderr
        return
    assert done.returncode == 0, done.stdout + done.stderr
    suite = ET.parse(ci / "ralph-verify.xml").getroot()
    assert suite.get("failures") == "0"
    assert {"subject", "check", "check at base"} <= {case.get("name") for case in suite.iter("testcase")}


def test_the_source_can_be_taken_out_by_hand(proven, tmp_path):
    """With tar and git alone, as the docs say."""
    shutil.copy(proven.tar, tmp_path / "proof.tar")
    names = {"BASE": proven.loop.sealed.base.commit, "RESULT": proven.loop.landing.result}
    done = shell(proven, block("by hand"), tmp_path, **names)
    assert done.returncode == 0, done.stderr
    assert "return a + b" in (tmp_path / "again" / "calc.py").read_text()


def test_the_docs_name_every_field_and_every_command():
    """What is in the predicate is explained, and what is explained is there."""
    text = DOCS.read_text()
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text.partition("## The statement")[2], re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert named == {field.encode_name for field in msgspec.structs.fields(LoopPredicate)}
    for command, options in re.findall(r"^ralph (verify|bundle|keys \w+)(.*)$", text, re.MULTILINE):
        module = import_module(module_of(command.split()[0])).command
        found = module.commands[command.split()[1]] if " " in command else module
        known = {option for param in found.params for option in param.opts}
        assert set(re.findall(r"(?<= )--?[a-z-]+", options.partition("#")[0])) <= known, options
