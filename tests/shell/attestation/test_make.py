"""Every verified loop can be attested: signed once, found again, and not to be edited unnoticed."""

import base64
import json
import os
import stat

import msgspec
import proofkit
import pytest
from userstate import git

from ralph.core.attestation.statement import encode
from ralph.errors import UserError
from ralph.shell.attestation import git_notes, make, trust
from ralph.shell.attestation.envelope import MAX_BYTES, BadEnvelope, seal, signed_by, unseal
from ralph.shell.git.project import find_project

NOW = 1_700_000_500.0


@pytest.fixture
def made(tmp_path):
    return proofkit.make(tmp_path)


def known(made):
    return {keyid: one.key for keyid, one in trust.trusted_keys(made.env).items()}


def test_a_verified_loop_gets_one_signed_envelope(made):
    """It stands in the state directory, for the user alone, and its signature holds."""
    path = make.attest(made.state, made.record, made.env, NOW)
    assert path == os.path.join(made.state.root, "attestations", f"{made.record.name}.dsse.json")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    sealed = make.load(made.state, made.record.name)
    assert signed_by(sealed, known(made))
    assert sealed.statement.tree == made.commit("ralph/fix^{tree}")
    assert sealed.statement.commit == made.commit("ralph/fix")


def test_attesting_again_changes_nothing(made):
    """Also after the key was rotated: the envelope that stands is left to stand."""
    path = make.attest(made.state, made.record, made.env, NOW)
    first, seen = _bytes(path), os.stat(path).st_mtime_ns
    trust.rotate(made.env, NOW)
    make.attest(made.state, made.record, made.env, NOW)
    assert (_bytes(path), os.stat(path).st_mtime_ns) == (first, seen)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\x00", b'{"payload": 1}'])
def test_a_damaged_envelope_is_made_again(made, damage):
    """The journal is the truth; the envelope follows from it."""
    path = make.attest(made.state, made.record, made.env, NOW)
    first = _bytes(path)
    with open(path, "wb") as file:
        file.write(damage)
    make.attest(made.state, made.record, made.env, NOW)
    assert _bytes(path) == first


def test_an_envelope_by_a_key_that_nobody_knows_is_made_again(made, tmp_path):
    """What somebody put there in the user's name does not stand."""
    path = make.attest(made.state, made.record, made.env, NOW)
    first = _bytes(path)
    other = trust.signing_key({**made.env, "XDG_CONFIG_HOME": str(tmp_path / "other")}, NOW)
    with open(path, "wb") as file:
        file.write(seal(unseal(first).payload, other))
    make.attest(made.state, made.record, made.env, NOW)
    assert _bytes(path) == first


def test_the_statement_names_no_place_of_this_machine(tmp_path):
    """Not in the task, not in a gate's command, not in what a gate said."""
    repo = tmp_path / "home" / "work" / "calc"
    gate = proofkit.tests_gate(run=f"{repo}/check -q", argv=(f"{repo}/check", "-q"), read="exit")
    made = proofkit.make(tmp_path, gate, task=f"fix {repo}/calc.py")
    sealed = make.read_envelope(make.attest(made.state, made.record, made.env, NOW))
    assert str(tmp_path) not in sealed.payload.decode()
    assert sealed.statement.predicate.gates[0]["run"] == "{{repository}}/check -q"
    assert sealed.statement.predicate.gates[0]["tool"] == "python3"


def test_the_statement_holds_no_secret_of_the_environment(tmp_path):
    """A value whose variable is called a key or a token is told to nobody."""
    made = proofkit.make(tmp_path, task="use hunter2hunter2 to log in")
    env = {**made.env, "SERVICE_TOKEN": "hunter2hunter2"}
    sealed = make.read_envelope(make.attest(made.state, made.record, env, NOW))
    assert b"hunter2" not in sealed.payload


def test_only_what_was_verified_is_attested(made):
    """A loop of another outcome is refused, and no key is made for it."""
    stalled = msgspec.structs.replace(made.record.loop, outcome="stalled")
    with pytest.raises(UserError) as caught:
        make.attest(made.state, msgspec.structs.replace(made.record, loop=stalled), made.env, NOW)
    assert caught.value.code == "E-ATTEST-UNVERIFIED"
    assert not made.config.exists()


def test_an_envelope_is_found_by_its_tree(made):
    """Whoever has the tree, by whatever commit, finds the proof."""
    make.attest(made.state, made.record, made.env, NOW)
    assert [
        one.statement.predicate.loop
        for one in make.envelopes_of_tree(made.state, made.commit("ralph/fix^{tree}"))
    ]
    assert not list(make.envelopes_of_tree(made.state, made.commit("main^{tree}")))


def _edited(data: bytes, change) -> bytes:
    envelope = json.loads(data)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    change(statement)
    envelope["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    return json.dumps(envelope).encode()


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made["predicate"].update(grade="B"),
        lambda made: made["subject"][0]["digest"].update(gitTree="0" * 40),
        lambda made: made["predicate"]["gates"][0].update(run="true", argv=["true"]),
        lambda made: made["predicate"].update(not_proven=[]),
        lambda _: None,  # the same words, written otherwise: bytes are what is signed
    ],
)
def test_an_edited_statement_does_not_hold(made, change):
    """One changed byte, and no key's signature is good."""
    data = _bytes(make.attest(made.state, made.record, made.env, NOW))
    assert signed_by(unseal(data), known(made))
    assert signed_by(unseal(_edited(data, change)), known(made)) is None


def test_a_signature_counts_only_by_the_key_it_was_made_with(made, tmp_path):
    """Naming a trusted key in the envelope does not make its signature."""
    sealed = unseal(_bytes(make.attest(made.state, made.record, made.env, NOW)))
    other = trust.signing_key({**made.env, "XDG_CONFIG_HOME": str(tmp_path / "other")}, NOW)
    forged = json.loads(seal(sealed.payload, other))
    assert signed_by(unseal(json.dumps(forged).encode()), known(made)) is None
    forged["signatures"][0]["keyid"] = next(iter(known(made)))
    assert signed_by(unseal(json.dumps(forged).encode()), known(made)) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"payload":"","payloadType":"x","signatures":[]}',
        b'{"payload":"!","payloadType":"x","signatures":[{"keyid":"%s","sig":""}]}' % (b"0" * 64),
        b'{"payload":"e30=","payloadType":"text/plain","signatures":[{"keyid":"%s","sig":""}]}' % (b"0" * 64),
        b'{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"%s","sig":""}]}'
        % (b"0" * 64),
        b'{"payload":"e30=","payloadType":"x","signatures":[{"keyid":"../x","sig":""}]}',
        b"[" * 100_000,
        b" " * (MAX_BYTES + 1),
    ],
)
def test_what_is_no_envelope_is_refused(data):
    """Hostile bytes end in one kind of error and nothing else."""
    with pytest.raises(BadEnvelope):
        unseal(data)


def test_a_note_is_on_the_tree_and_on_the_commit(made):
    """On request only, in refs/notes/ralph, and nothing else of the repository moves."""
    sealed = make.read_envelope(make.attest(made.state, made.record, made.env, NOW))
    project = find_project(str(made.repo))
    before = git(made.repo, "for-each-ref"), git(made.repo, "status", "--porcelain")
    objects = git_notes.write_notes(project, sealed)
    assert objects == (sealed.statement.tree, sealed.statement.commit)
    after = [line for line in git(made.repo, "for-each-ref").splitlines() if "refs/notes/ralph" not in line]
    assert ("\n".join(after), git(made.repo, "status", "--porcelain")) == before
    for oid in objects:
        assert git_notes.read_notes(project, oid) == [unseal(sealed.data.strip())]
    assert git_notes.write_notes(project, sealed) == objects
    assert len(git_notes.read_notes(project, sealed.statement.tree)) == 1


def test_notes_of_several_loops_stand_beside_each_other(made):
    """A second proof of the same tree does not push the first one out; foreign lines are passed over."""
    sealed = make.read_envelope(make.attest(made.state, made.record, made.env, NOW))
    project = find_project(str(made.repo))
    git(made.repo, "notes", "--ref=ralph", "add", "-m", "somebody's own words", sealed.statement.tree)
    git_notes.write_notes(project, sealed)
    again = msgspec.structs.replace(sealed.statement.predicate, reason="twice")
    second = unseal(
        seal(
            encode(msgspec.structs.replace(sealed.statement, predicate=again)),
            trust.signing_key(made.env, NOW),
        )
    )
    git_notes.write_notes(project, second)
    found = git_notes.read_notes(project, sealed.statement.tree)
    assert [one.statement.predicate.reason for one in found] == [sealed.statement.predicate.reason, "twice"]


def _bytes(path):
    with open(path, "rb") as file:
        return file.read()
