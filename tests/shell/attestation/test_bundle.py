"""A bundle holds all that is needed, is the same each time, and is read as what strangers send."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import proofkit
import pytest
from userstate import git

from ralph.errors import UserError
from ralph.shell.attestation import bundle, bundle_source, make
from ralph.shell.attestation.bundle import BadBundle
from ralph.shell.attestation.bundle_source import BadSource
from ralph.shell.git.project import find_project

pytestmark = pytest.mark.slow

NOW = 1_700_000_500.0

SCRIPT = Path(__file__).parents[3] / "tools" / "verify_bundle.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return proofkit.make(tmp_path_factory.mktemp("user"))


@pytest.fixture(scope="module")
def packed(made, tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "proof.tar"
    bundle.write_bundle(made.state, made.record, made.env, str(out), NOW)
    return out


def members(path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar}


def retar(path, parts, *, manifest=True, add=()):
    """A bundle with these members, its manifest made to fit unless told otherwise."""
    if manifest:
        listed = json.loads(parts["manifest.json"])
        listed["members"] = {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            for name, data in parts.items()
            if name != "manifest.json"
        }
        parts = {**parts, "manifest.json": json.dumps(listed).encode()}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        for entry, data in add:
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def unpack(path, tmp_path):
    into = tmp_path / "into"
    into.mkdir()
    return bundle.unpack(str(path), str(into))


def test_a_bundle_holds_what_a_third_person_needs(made, packed, tmp_path):
    """Envelope, key, source, and every blob that the statement names."""
    manifest = unpack(packed, tmp_path)
    sealed = make.load(made.state, made.record.name)
    named = {name for name in manifest.members if "/" not in name}
    assert named == {"envelope.dsse.json", "key.pub.pem", "source.bundle"}
    for said in (*sealed.statement.predicate.verdicts, *sealed.statement.predicate.baseline):
        assert f"evidence/{said.evidence}" in manifest.members
        assert f"readings/{said.reading}" in manifest.members
    assert b"PRIVATE" not in packed.read_bytes()


def test_the_same_loop_gives_the_same_bundle(made, packed, tmp_path):
    """Byte for byte: no time, no owner, no order that depends on the disk."""
    again = tmp_path / "again.tar"
    bundle.write_bundle(made.state, made.record, made.env, str(again), NOW)
    assert again.read_bytes() == packed.read_bytes()


def test_the_source_comes_back_without_older_history(made, packed, tmp_path):
    """Base and result with their trees, and nothing that was there before the base."""
    unpack(packed, tmp_path)
    base, result = made.commit("main"), made.commit("ralph/fix")
    tree = made.commit("ralph/fix^{tree}")
    file = str(tmp_path / "into" / "source.bundle")
    project = bundle_source.unpack(file, str(tmp_path / "repo"), base, result, tree)
    assert git(project.top, "rev-list", "--count", "HEAD") == "2"
    assert "a + b" in git(project.top, "show", "HEAD:calc.py")
    there = git(project.top, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert made.commit("main~1") not in there
    for wrong in ((result, result, tree), (base, base, tree), (base, result, made.commit("main^{tree}"))):
        with pytest.raises(BadSource):
            bundle_source.unpack(
                file, str(tmp_path / f"repo-{wrong[0][:4]}{wrong[1][:4]}{wrong[2][:4]}"), *wrong
            )


def _link(kind):
    entry = tarfile.TarInfo("evidence/" + "0" * 64)
    entry.type, entry.linkname = kind, "/etc/passwd"
    return entry


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../evil", "leads out of it"),
        ("evidence/../../evil", "leads out of it"),
        ("/etc/evil", "leads out of it"),
        ("evidence/x", "no bundle has"),
        ("hooks/post-checkout", "no bundle has"),
        ("manifest.json", "twice"),
        ("envelope.dsse.json", "twice"),
        ("./key.pub.pem", "no bundle has"),
        ("evidence/" + "0" * 64, "does not have the hash"),
    ],
)
def test_a_name_that_does_not_belong_is_refused(packed, tmp_path, name, why):
    """Nothing of the bundle is written anywhere but below the given folder."""
    parts = members(packed)
    if why != "does not have the hash":
        retar(tmp_path / "bad.tar", parts, add=[(tarfile.TarInfo(name), b"evil")])
    else:
        retar(tmp_path / "bad.tar", {**parts, name: b"evil"})
    with pytest.raises(BadBundle, match=why):
        unpack(tmp_path / "bad.tar", tmp_path)
    assert not list(tmp_path.rglob("evil"))
    script = subprocess.run([sys.executable, SCRIPT, tmp_path / "bad.tar"], capture_output=True, check=False)
    assert script.returncode == 1, script.stdout


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, b"S"]
)
def test_what_is_not_a_plain_file_is_refused(packed, tmp_path, kind):
    """Links, pipes, folders, devices and sparse files have no place in a bundle."""
    retar(tmp_path / "bad.tar", members(packed), add=[(_link(kind), b"")])
    with pytest.raises(BadBundle):
        unpack(tmp_path / "bad.tar", tmp_path)


@pytest.mark.parametrize("gone", ["manifest.json", "envelope.dsse.json", "key.pub.pem", "source.bundle"])
def test_a_bundle_that_lacks_a_part_is_refused(packed, tmp_path, gone):
    """Each of the four is needed."""
    parts = members(packed)
    manifest = gone != "manifest.json"
    if manifest:
        parts.pop(gone)
    else:
        parts = {name: data for name, data in parts.items() if name != gone}
    retar(tmp_path / "bad.tar", parts, manifest=manifest)
    with pytest.raises(BadBundle, match=gone):
        unpack(tmp_path / "bad.tar", tmp_path)


def test_a_member_that_the_manifest_does_not_know_or_knows_otherwise_is_refused(packed, tmp_path):
    """Added, changed or missing: all three are noticed."""
    parts = members(packed)
    blob = next(name for name in parts if name.startswith("evidence/"))
    without = {name: data for name, data in parts.items() if name != blob}
    for number, bad in enumerate(({**parts, "key.pub.pem": b"x"}, without)):
        path = retar(tmp_path / f"bad{number}.tar", bad, manifest=False)
        (tmp_path / f"{number}").mkdir()
        with pytest.raises(BadBundle, match="manifest"):
            unpack(path, tmp_path / f"{number}")


@pytest.mark.parametrize("data", [b"", b"no tar", b"\0" * 10240, b"\x1f\x8b\x08\0" + b"x" * 100])
def test_what_is_no_tar_is_refused(tmp_path, data):
    """Also compressed ones: nothing is inflated before it is known."""
    (tmp_path / "bad.tar").write_bytes(data)
    with pytest.raises(BadBundle):
        unpack(tmp_path / "bad.tar", tmp_path)


@pytest.mark.parametrize("cut", [600, 3000, 9000])
def test_a_bundle_that_is_cut_off_is_refused(packed, tmp_path, cut):
    """A download that broke off is not a smaller bundle."""
    (tmp_path / "bad.tar").write_bytes(packed.read_bytes()[:cut])
    with pytest.raises(BadBundle):
        unpack(tmp_path / "bad.tar", tmp_path)


def test_sizes_are_bounded(packed, tmp_path, monkeypatch):
    """A member may not be larger than its kind ever is."""
    monkeypatch.setitem(bundle.MAX_BYTES, "key.pub.pem", 10)
    with pytest.raises(BadBundle, match="too large"):
        unpack(packed, tmp_path)


def _raw_tree(repo, entries) -> str:
    """A tree that git itself would not write."""
    data = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    return git(repo, "hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=data)


@pytest.mark.parametrize("name", ["..", ".git", ".", ".GIT"])
def test_a_path_out_of_the_source_is_refused(made, tmp_path, name):
    """A tree with .. or .git in it is refused before anything is checked out."""
    repo = made.repo
    blob = git(repo, "hash-object", "-w", "calc.py")
    inner = _raw_tree(repo, [("100644", "evil", blob)])
    tree = _raw_tree(repo, [("40000", name, inner), ("100644", "calc.py", blob)])
    base = made.commit("main")
    result = git(repo, "commit-tree", tree, "-p", base, "-m", "evil")
    file = tmp_path / "source.bundle"
    bundle_source.pack(find_project(str(repo)), base, result, str(file))
    with pytest.raises(BadSource, match=r"out of it|cannot"):
        bundle_source.unpack(str(file), str(tmp_path / "repo"), base, result, tree)
    assert not list(tmp_path.glob("**/evil"))


def test_evidence_that_must_not_be_told_is_left_out_and_said(tmp_path):
    """Output with a secret of the environment, and everything of a hidden gate."""
    hidden = proofkit.tests_gate(
        name="hidden", run="check-it", argv=("check-it",), origin="hidden", read="exit"
    )
    made = proofkit.make(tmp_path, proofkit.tests_gate(), hidden, output=b"log in with hunter2hunter2\n")
    env = {**made.env, "SERVICE_TOKEN": "hunter2hunter2"}
    out = tmp_path / "proof.tar"
    done = bundle.write_bundle(made.state, made.record, env, str(out), NOW)
    assert any("secret" in sentence for sentence in done.left_out)
    assert any(sentence.startswith("hidden: ") for sentence in done.left_out)
    data = out.read_bytes()
    assert b"hunter2" not in data
    assert b"check-it" not in data


def test_a_commit_that_is_gone_is_said(tmp_path):
    """A dropped loop has no source to export."""
    made = proofkit.make(tmp_path)
    git(made.repo, "branch", "-q", "-D", "ralph/fix")
    git(made.repo, "reflog", "expire", "--expire=now", "--all")
    git(made.repo, "gc", "-q", "--prune=now")
    with pytest.raises(UserError) as caught:
        bundle.write_bundle(made.state, made.record, made.env, str(tmp_path / "x.tar"), NOW)
    assert caught.value.code == "E-COMMIT-GONE"
    assert not (tmp_path / "x.tar").exists()


def test_the_standalone_script_agrees(packed, tmp_path):
    """Good with the signer's key, bad with another key, bad after an edit; it needs nothing of Ralph."""
    assert "ralph" not in [
        line.split()[1] for line in SCRIPT.read_text().splitlines() if line.startswith("from ")
    ]
    assert len(SCRIPT.read_text().splitlines()) < 150
    parts = members(packed)
    (tmp_path / "key.pem").write_bytes(parts["key.pub.pem"])
    other = bundle.load_public(parts["key.pub.pem"], "x")
    envelope = json.loads(parts["envelope.dsse.json"])
    envelope["payload"] = envelope["payload"].replace("A", "B", 1)
    retar(tmp_path / "edited.tar", {**parts, "envelope.dsse.json": json.dumps(envelope).encode()})

    def run(*words):
        argv = [sys.executable, SCRIPT, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    good = run(packed, "--key", tmp_path / "key.pem")
    assert (good.returncode, f"signature by key {other.id}" in good.stdout) == (0, True), good
    unknown = run(packed)
    assert (unknown.returncode, "no key that you trust was given" in unknown.stdout) == (1, True)
    assert run(tmp_path / "edited.tar").returncode == 1
    stranger = proofkit.make(tmp_path / "stranger")
    theirs = bundle.write_bundle(
        stranger.state, stranger.record, stranger.env, str(tmp_path / "theirs.tar"), NOW
    )
    (tmp_path / "their.pem").write_bytes(members(theirs.path)["key.pub.pem"])
    wrong = run(packed, "--key", tmp_path / "their.pem")
    assert wrong.returncode == 1
    assert "NOT VERIFIED" in wrong.stdout
