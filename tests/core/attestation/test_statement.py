"""The statement says what was proven, the same way each time, and nothing about the user's machine."""

import msgspec
import pytest
from builders import (
    based,
    close,
    conclude,
    gate,
    green,
    guard,
    guarding,
    judge,
    order,
    red,
    started,
    verified,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.attestation.redact import gate_entry, gate_of, matches_redacted, redact_data
from ralph.core.attestation.statement import StatementFacts, encode, inventory, parse, statement
from ralph.core.model.gate import Gate
from ralph.core.model.order import StartPoint

PLACES = {"repository": "/home/me/src/app", "state": "/home/me/.local/state/ralph", "home": "/home/me"}
FACTS = StatementFacts(
    started="2026-01-01T00:00:00Z", finished="2026-01-01T00:01:00Z", version="1", places=PLACES
)


def real(loop):
    """The builders' short ids as git would write them."""
    ids = {"t0": "0" * 40, "t1": "1" * 40, "c0": "c" * 40, "r-t1": "d" * 40, "c-t1": "e" * 40}
    sealed = replace(loop.sealed, base=StartPoint(ids["c0"], ids["t0"]))
    told = {
        name: {
            key: replace(verdict, tree=ids[verdict.tree])
            for key, verdict in getattr(loop.proof, name).items()
        }
        for name in ("baseline", "finals", "verdicts")
    }
    loop = loop.with_proof(**told, guards_tree=ids.get(loop.proof.guards_tree, ""))
    loop = loop.with_work(tree=ids[loop.work.tree])
    return replace(loop.with_landing(result=ids.get(loop.landing.result, "")), order=sealed)


def test_the_tree_is_the_first_subject_and_the_commit_the_second():
    """A squash or a rebase changes the commit and not the tree, so the tree comes first."""
    made = statement(real(verified()), FACTS)
    plain = msgspec.json.decode(encode(made))
    assert list(plain) == ["_type", "subject", "predicateType", "predicate"]
    assert plain["_type"] == "https://in-toto.io/Statement/v1"
    assert plain["predicateType"] == "urn:ralph:proof:v1"
    assert [one["digest"] for one in plain["subject"]] == [{"gitTree": "1" * 40}, {"gitCommit": "d" * 40}]


def test_the_predicate_holds_the_whole_proof():
    """Base, criterion, gates, verdicts before and after, guards, sandbox, agent and spend are in it."""
    facts = replace(FACTS, words=("no network",), platform="linux-x86_64", variables=("PATH",))
    told = statement(real(verified()), facts).predicate
    assert told.base.commit == "c" * 40
    assert [(one.gate, one.status) for one in told.verdicts] == [("test", "pass")]
    assert [(one.gate, one.status) for one in told.baseline] == [("test", "fail")]
    assert told.gates[0]["argv"] == ["test"]
    assert told.gates[0]["proof"] is True
    assert told.guards[0].guard == "inventory"
    assert (told.task_class, told.agent.name, told.sandbox.level) == ("test-pass", "demo", "S2")
    assert told.sandbox.words == ("no network",)
    assert told.spend["calls"] == 1
    assert told.spend["cost_usd"] is None  # unknown is not zero
    assert (told.started, told.finished) == (FACTS.started, FACTS.finished)
    assert len(told.environment.digest) == 64


def test_the_same_loop_gives_the_same_bytes_and_they_can_be_read_again():
    """Attesting twice says the same, and what is written is what is read."""
    first, second = (encode(statement(real(verified()), FACTS)) for _ in range(2))
    assert first == second
    assert encode(parse(first)) == first


def test_a_proof_that_was_green_before_any_call_is_attested_of_the_base():
    """Already satisfied: the subject is the base, there is no grade, and no agent was spent."""
    loop = real(close(judge(started(), replace(green(), tree="t0", stage="baseline"))))
    made = statement(loop, FACTS)
    assert (made.tree, made.commit) == ("0" * 40, "c" * 40)
    assert made.predicate.grade is None
    assert [one.status for one in made.predicate.verdicts] == ["pass"]
    assert parse(encode(made)) == made


def test_no_place_of_the_machine_and_no_secret_is_told():
    """Paths of home, repository and state become words, secrets are taken out, whatever field they are in."""
    task = "look at /home/me/src/app/a.py, not at /home/me/src/application; key hunter2hunter2"
    waivers = {"inventory": "see /home/me/notes"}
    sealed = order(gate(env={"config": "/home/me/src/app/x"}), waivers=waivers, setup="/home/me/bin/setup")
    sealed = replace(sealed, task=task)
    seen = red(count=3, summary="/home/me/.local/state/ralph/loops broke")
    loop = conclude(guarding(based(sealed, seen)), guard(summary="in /home/me/src/app/tests"))
    facts = replace(FACTS, secrets=("hunter2hunter2",))
    text = encode(statement(real(close(loop)), facts)).decode()
    assert "/home/me" not in text
    assert "hunter2" not in text
    assert "{{repository}}/a.py" in text
    assert "{{home}}/src/application" in text
    assert '"config":"{{repository}}/x"' in text
    assert "{{state}}/loops broke" in text


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (gate(origin="hidden", own_files=("secret_check.py",)), "hidden"),
        (gate(env={"API_TOKEN": "hunter2hunter2"}), "secret"),
    ],
)
def test_a_hidden_gate_or_one_with_a_secret_is_withheld(shown, why):
    """Only its name and its hash are told; the hash still tells it from every other gate."""
    entry = gate_entry(shown, PLACES, ("hunter2hunter2",))
    assert entry["withheld"] == why
    assert set(entry) == {"name", "proof", "required", "read", "origin", "sha256", "withheld"}
    assert entry["sha256"] != gate_entry(replace(shown, timeout=1.0), PLACES)["sha256"]


texts = st.text(st.sampled_from("ab/-_ .{}=:$'\"é"), max_size=30)


@given(texts, texts, st.sampled_from(["/home/me", "/home/me/src/app", "/home/me2", "/x/home/me"]))
def test_a_gate_comes_back_as_it_was_on_the_same_machine(before, after, path):
    """Telling a gate and reading it again with the same places changes nothing but the tool."""
    text = f"{before} {path}/{after}"
    made = Gate(name="g", run=text, argv=("sh", text), env={"A": text}, tool="/usr/bin/sh", tool_sha="5e")
    entry = gate_entry(made, PLACES)
    if not entry["withheld"]:
        assert gate_of(entry, PLACES) == replace(made, tool="", tool_sha="")
        assert matches_redacted(entry["run"], text)


def test_a_gate_with_a_rule_this_version_does_not_know_is_refused():
    """Judging it by fewer rules than were agreed would be another gate."""
    with pytest.raises(msgspec.ValidationError, match="new_rule"):
        gate_of({**gate_entry(gate(), {}), "new_rule": 1}, {})


def test_the_same_command_is_known_again_with_other_places_only():
    """{{home}} stands for some absolute path, and for nothing else."""
    assert matches_redacted("{{home}}/bin/check -q", "/users/x/bin/check -q")
    assert not matches_redacted("{{home}}/bin/check -q", "/users/x/bin/check -q; rm x")
    assert not matches_redacted("check -q", "check -qq")


def test_an_inventory_changes_with_any_test_and_any_state():
    """Two sets of tests have one hash only when they are the same."""
    tests = {"a": "pass", "b": "fail"}
    assert inventory(tests) == inventory(dict(reversed(tests.items())))
    assert (
        len({inventory(tests), inventory({"a": "pass"}), inventory({**tests, "b": "pass"}), inventory({})})
        == 4
    )
    assert not inventory(None)


@pytest.mark.parametrize(
    "edit",
    [
        lambda made: made["subject"].reverse(),
        lambda made: made["subject"].pop(),
        lambda made: made["subject"][0]["digest"].update(gitTree="../../etc"),
        lambda made: made["predicate"]["base"].update(commit="--upload-pack=x"),
        lambda made: made["predicate"]["verdicts"][0].update(evidence="../x"),
        lambda made: made["predicate"]["verdicts"][0].update(gate="other"),
        lambda made: made["predicate"]["gates"].append(made["predicate"]["gates"][0]),
        lambda made: made.update(predicateType="urn:other:v1"),
        lambda made: made.update(_type="https://in-toto.io/Statement/v0.1"),
        lambda made: made["predicate"].pop("grade"),
    ],
)
def test_a_statement_of_another_shape_is_refused(edit):
    """What was signed is no reason to read what does not hold together."""
    made = msgspec.json.decode(encode(statement(real(verified()), FACTS)))
    edit(made)
    with pytest.raises((ValueError, msgspec.DecodeError)):
        parse(msgspec.json.encode(made))


def test_names_by_which_parts_refer_to_each_other_stay_as_they_are():
    """A gate that is called like a secret still belongs to its verdict."""
    told = redact_data({"gate": "hunter2hunter2", "summary": "hunter2hunter2"}, {}, ("hunter2hunter2",))
    assert told == {"gate": "hunter2hunter2", "summary": "[redacted]"}
