"""Signing keys stay with their user; whose signatures count is the user's word."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from ralph.errors import SetupError, UserError
from ralph.shell.attestation import keys, trust
from ralph.shell.attestation.keys import load_public

NOW = 1_700_000_000.0


@pytest.fixture
def env(tmp_path):
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def folder(env):
    return keys.keys_dir(env)


def write_key(path, key=None, *, form=s.PrivateFormat.PKCS8, lock=None, mode=0o600):
    key = key or ed25519.Ed25519PrivateKey.generate()
    shut = s.BestAvailableEncryption(lock) if lock else s.NoEncryption()
    path.write_bytes(key.private_bytes(s.Encoding.PEM, form, shut))
    path.chmod(mode)
    return key


def _sign_first(env):
    return trust.signing_key(env, NOW).public.id


def test_a_key_is_made_on_first_use_and_kept(env):
    """The second signature is by the same key, and that key is trusted here."""
    first = trust.signing_key(env, NOW)
    assert trust.signing_key(env, NOW + 9).public == first.public
    assert list(trust.trusted_keys(env)) == [first.public.id]
    assert trust.trusted_keys(env)[first.public.id].own


def test_nobody_else_can_read_the_key(env):
    """Folder 0700, files 0600, whatever the umask says."""
    before = os.umask(0)
    try:
        trust.signing_key(env, NOW)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(folder(env)).st_mode) == 0o700
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(folder(env))} == {0o600}


def test_two_first_uses_at_once_end_with_one_key(env):
    """Ten processes that sign for the first time sign with the same key."""
    with ProcessPoolExecutor(4) as pool:
        assert len(set(pool.map(_sign_first, [env] * 10))) == 1


def test_reading_makes_nothing(env):
    """Looking at the trusted keys does not make a folder or a key."""
    assert trust.trusted_keys(env) == {}
    assert not os.path.exists(env["XDG_CONFIG_HOME"])


def test_a_private_key_is_never_in_a_text(env):
    """Neither the signer's words nor what is stored beside it hold the private half."""
    signer = trust.signing_key(env, NOW)
    raw = signer.private.private_bytes_raw()
    stored = Path(folder(env), "trusted.json").read_bytes()
    assert raw not in stored
    assert b"PRIVATE" not in stored
    assert repr(signer) == f"Signer({signer.public.id[:16]})"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(env, mode):
    """As ssh does: it may have been copied."""
    trust.signing_key(env, NOW)
    os.chmod(os.path.join(folder(env), "signing.pem"), mode)
    with pytest.raises(SetupError) as caught:
        trust.signing_key(env, NOW)
    assert caught.value.code == "E-KEYS-MODE"


def test_links_in_place_of_keys_are_refused(env, tmp_path):
    """A link where the key or its folder should be is not followed."""
    trust.signing_key(env, NOW)
    key = os.path.join(folder(env), "signing.pem")
    os.rename(key, tmp_path / "moved.pem")
    os.symlink(tmp_path / "moved.pem", key)
    with pytest.raises(SetupError):
        trust.signing_key(env, NOW)
    os.rename(folder(env), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", folder(env))
    with pytest.raises(SetupError):
        trust.trusted_keys(env)


@pytest.mark.parametrize("form", [s.PrivateFormat.PKCS8, s.PrivateFormat.OpenSSH])
def test_the_user_can_bring_a_key(env, tmp_path, form):
    """RALPH_SIGNING_KEY names one, as PEM or in OpenSSH's format; Ralph makes none of its own then."""
    own = write_key(tmp_path / "mine", form=form)
    signer = trust.signing_key({**env, keys.VARIABLE: str(tmp_path / "mine")}, NOW)
    assert signer.public == keys.public_key(own.public_key())
    assert os.listdir(folder(env)) == ["trusted.json"]
    assert trust.trusted_keys(env)[signer.public.id].name == "mine"


@pytest.mark.parametrize("kind", ["locked", "locked-ssh", "other", "garbage", "open", "relative", "missing"])
def test_a_key_that_cannot_be_used_is_refused_without_quoting_it(env, tmp_path, kind):
    """A passphrase, another algorithm, no key at all, or one that others can read."""
    path = tmp_path / "mine"
    match kind:
        case "locked":
            write_key(path, lock=b"passphrase")
        case "locked-ssh":
            write_key(path, form=s.PrivateFormat.OpenSSH, lock=b"passphrase")
        case "other":
            write_key(path, ec.generate_private_key(ec.SECP256R1()))
        case "garbage":
            path.write_bytes(b"-----BEGIN PRIVATE KEY-----\nhunter2hunter2\n-----END PRIVATE KEY-----\n")
            path.chmod(0o600)
        case "open":
            write_key(path, mode=0o644)
        case _:
            pass
    named = "mine" if kind == "relative" else str(path)
    with pytest.raises((UserError, SetupError)) as caught:
        trust.signing_key({**env, keys.VARIABLE: named}, NOW)
    said = f"{caught.value} {caught.value.why} {caught.value.next}"
    assert "hunter2" not in said
    assert caught.value.next


def test_public_keys_of_others_are_read_as_pem_and_openssh():
    """Both spellings of one key have one id; a private key is refused as such."""
    key = ed25519.Ed25519PrivateKey.generate()
    public = key.public_key()
    pem = public.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    line = public.public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH) + b" somebody@example.invalid\n"
    assert load_public(pem, "x") == load_public(line, "x")
    private = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    for data, code in ((private, "E-KEY-PRIVATE"), (b"", "E-KEY-FORMAT"), (b"\xff" * 99, "E-KEY-FORMAT")):
        with pytest.raises(UserError) as caught:
            load_public(data, "x")
        assert caught.value.code == code
    other = ec.generate_private_key(ec.SECP256R1()).public_key()
    with pytest.raises(UserError):
        load_public(other.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo), "x")


def test_a_rotated_key_counts_for_old_statements_only(env):
    """What it signed until then still counts, what claims to be later does not; the new one signs."""
    old = trust.signing_key(env, NOW).public
    gone, new = trust.rotate(env, NOW + 100)
    assert gone == old != new
    assert trust.signing_key(env, NOW + 200).public == new
    known = trust.trusted_keys(env)
    assert not trust.why_untrusted(known[old.id], NOW + 100)
    assert "was rotated" in trust.why_untrusted(known[old.id], NOW + 101)
    assert not trust.why_untrusted(known[new.id], NOW + 101)


def test_after_a_rotation_the_old_private_key_is_gone(env):
    """Nothing in the folder can sign in the old key's name."""
    old = trust.signing_key(env, NOW).private.private_bytes(
        s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()
    )
    trust.rotate(env, NOW + 1)
    assert not any(old in path.read_bytes() for path in Path(folder(env)).iterdir())


def test_a_rotation_that_was_killed_half_way_is_made_good(env):
    """The old key's end was noted and the new one not yet made: the old one goes on."""
    old = trust.signing_key(env, NOW)
    with keys.open_folder(env, create=False) as handle:
        trust._save(handle, {old.public.id: trust.Trusted(old.public, "x", NOW, until=NOW, end="rotated")})
    assert trust.signing_key(env, NOW + 1).public == old.public
    assert not trust.why_untrusted(trust.trusted_keys(env)[old.public.id], NOW + 2)


def test_a_users_key_is_not_ralphs_to_rotate(env, tmp_path):
    """A key that the user brought is left alone."""
    write_key(tmp_path / "mine")
    with pytest.raises(UserError) as caught:
        trust.rotate({**env, keys.VARIABLE: str(tmp_path / "mine")}, NOW)
    assert caught.value.code == "E-KEY-FOREIGN"


def test_trust_ends_when_told(env):
    """An end by date refuses what is later; distrust refuses everything; the signing key is rotated first."""
    key = keys.public_key(ed25519.Ed25519PrivateKey.generate().public_key())
    trust.trust(env, key, "them", NOW, until=NOW + 10)
    assert not trust.why_untrusted(trust.trusted_keys(env)[key.id], NOW + 10)
    assert "expired" in trust.why_untrusted(trust.trusted_keys(env)[key.id], NOW + 11)
    trust.distrust(env, "them")
    assert trust.why_untrusted(trust.trusted_keys(env).get(key.id), NOW)
    own = trust.signing_key(env, NOW).public
    with pytest.raises(UserError) as caught:
        trust.distrust(env, own.id[:16])
    assert caught.value.code == "E-KEY-SIGNING"
    trust.rotate(env, NOW)
    trust.distrust(env, own.id)
    assert own.id not in trust.trusted_keys(env)


def test_a_garbled_list_of_keys_trusts_nobody(env):
    """It is an error that says where, never an empty or a guessed list."""
    trust.signing_key(env, NOW)
    with open(os.path.join(folder(env), "trusted.json"), "w") as file:
        file.write('{"version": 2, "keys": {}}')
    with pytest.raises(SetupError):
        trust.trusted_keys(env)


@pytest.mark.parametrize("words", [["--help"], ["status"], ["keys", "--help"]])
def test_commands_that_need_no_key_load_no_cryptography(tmp_path, words):
    """`ralph status` and every help start without the libraries that sign."""
    code = (
        "import sys\nfrom ralph.ui.cli.main import main\nmain(sys.argv[1:])\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('cryptography', 'securesystemslib')])"
    )
    env = {**os.environ, "RALPH_STATE_DIR": str(tmp_path / "state")}
    argv = [sys.executable, "-c", code, *words]
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
