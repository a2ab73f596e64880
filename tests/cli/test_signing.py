"""Signatures of seals, with keys that the real ssh-keygen makes: who signed, and what is none of a signature."""

from __future__ import annotations

import base64
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from tradefair.cli import run
from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import open_trace

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")

Shell = Any
MakeKey = Callable[..., Path]


@pytest.fixture
def make_key(tmp_path: Path) -> MakeKey:
    def _make(name: str, *options: str) -> Path:
        path = tmp_path / name
        chosen = options or ("-t", "ed25519", "-N", "")
        subprocess.run(["ssh-keygen", "-q", "-C", f"{name}@board", "-f", path, *chosen], check=True)
        return path

    return _make


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A sealed trace of a short game."""
    out = tmp_path / "runs"
    options = ("--agent", "policy", "--model", "policy:half", "--seed", "1", "--no-references")
    assert run(["play", "teaching", "--scenario", "pie", *options, "--out", str(out)]) == 0
    return next(out.glob("*.trace"))


def shown_by_ssh(key: Path) -> str:
    """The fingerprint of a key as ssh-keygen has it."""
    done = subprocess.run(["ssh-keygen", "-l", "-f", f"{key}.pub"], capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


def set_signature(path: Path, value: bytes | None) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM meta WHERE key = 'signature'")
        if value is not None:
            database.execute("INSERT INTO meta VALUES ('signature', ?)", (value,))


def signature(path: Path) -> bytes:
    with open_trace(path) as opened:
        found = opened.signature()
    assert found is not None
    return found


def quietly(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


def test_a_signed_trace_shows_the_fingerprint_that_ssh_keygen_shows(
    trace: Path, make_key: MakeKey, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    key, before = make_key("ed"), verify_file(trace)
    assert (before.verdict, before.signed_by) == ("reproduced", None)
    capsysbinary.readouterr()
    assert quietly("sign", trace, "--key", key, "--json") == 0
    (row,) = orjson.loads(capsysbinary.readouterr().out)["signed"]
    assert row == {"path": str(trace), "seal": before.seal, "signed_by": shown_by_ssh(key)}
    after = verify_file(trace)
    # Outside the seal: nothing else of the trace has changed.
    assert (after.verdict, after.seal, after.head_hash, after.findings) == (
        "reproduced",
        before.seal,
        before.head_hash,
        [],
    )
    assert after.signed_by == shown_by_ssh(key)
    assert quietly("verify", trace) == 0
    printed = capsysbinary.readouterr().out.decode()
    assert shown_by_ssh(key)[:18] in printed
    assert "trusted" not in printed


def test_signers_are_a_file_of_public_keys_and_every_trace_needs_one_of_them(
    trace: Path, make_key: MakeKey, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    keys = [make_key(name) for name in ("ann", "bob", "cid")]
    other, rsa = make_key("eve"), make_key("rsa", "-t", "rsa", "-b", "2048", "-N", "")
    lines = [Path(f"{key}.pub").read_text(encoding="utf-8") for key in (*keys, rsa)]
    signers = tmp_path / "board_signers"
    # As in authorized_keys: comments, empty lines, options before a key, keys of other types.
    signers.write_text(f'# the board\n\n{lines[0]}no-pty,command="echo a" {lines[1]}  {lines[2]}{lines[3]}# {other}\n')
    assert quietly("verify", trace, "--signers", signers) == 1
    assert "not signed by any of the 3 keys in board_signers" in capsysbinary.readouterr().out.decode()
    for key in keys:
        assert quietly("sign", trace, "--key", key) == 0
        assert quietly("verify", trace, "--signers", signers) == 0
    # Replacing a signature is allowed, and then it is another's.
    assert quietly("sign", trace, "--key", other) == 0
    capsysbinary.readouterr()
    assert quietly("verify", trace, "--signers", signers, "--json") == 1
    content = orjson.loads(capsysbinary.readouterr().out)
    assert (content["sound"], content["verdicts"][0]["verdict"]) == (0, "reproduced")
    assert content["verdicts"][0]["signed_by"] == shown_by_ssh(other)
    assert "not signed by any of the 3 keys" in content["verdicts"][0]["findings"][0]["message"]
    signers.write_text(f"# {Path(f'{other}.pub').read_text(encoding='utf-8')}")
    assert quietly("verify", trace, "--signers", signers) == 2


def test_keys_that_cannot_sign_are_refused_with_what_helps(
    trace: Path, make_key: MakeKey, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "junk").write_text("no key")
    refused = {
        make_key("locked", "-t", "ed25519", "-N", "secret"): "has a passphrase",
        make_key("rsa", "-t", "rsa", "-b", "2048", "-N", ""): "ssh-keygen -t ed25519",
        make_key("ec", "-t", "ecdsa", "-N", ""): "ssh-keygen -t ed25519",
        tmp_path / "junk": "not a private key",
        make_key("ed").with_suffix(".pub"): "not a private key",
        tmp_path / "none": "cannot be read",
    }
    for key, says in refused.items():
        assert quietly("sign", trace, "--key", key) == 2
        assert says in capfd.readouterr().err
    assert verify_file(trace).signed_by is None


def test_nothing_is_signed_unless_every_trace_is_sealed(
    trace: Path, make_key: MakeKey, capfd: pytest.CaptureFixture[str]
) -> None:
    key, bare = make_key("ed"), trace.with_name("z.trace")
    shutil.copy(trace, bare)
    with closing(sqlite3.connect(bare)) as database, database:
        ((about,),) = database.execute("SELECT value FROM meta WHERE key = 'about'")
        claims = orjson.loads(about)
        del claims["seal"]
        database.execute("UPDATE meta SET value = ? WHERE key = 'about'", (orjson.dumps(claims),))
    assert quietly("sign", trace.parent, "--key", key) == 1
    assert "not sealed" in capfd.readouterr().err
    assert verify_file(trace).signed_by is None
    # A signature of nothing is damage, and so is a seal that was edited.
    assert quietly("sign", trace, "--key", key) == 0
    set_signature(bare, signature(trace))
    assert (verify_file(bare).verdict, verify_file(bare).sentence) == ("damaged", "the signature does not fit the seal")
    with closing(sqlite3.connect(bare)) as database, database:
        edited = orjson.dumps({**orjson.loads(about), "end_reason": "won"})
        database.execute("UPDATE meta SET value = ? WHERE key = 'about'", (edited,))
    assert quietly("sign", bare, "--key", key) == 1
    assert "run tradefair verify" in capfd.readouterr().err


def test_a_signature_that_does_not_fit_is_damage_whatever_stands_there(trace: Path, make_key: MakeKey) -> None:
    key = make_key("ed")
    assert quietly("sign", trace, "--key", key) == 0
    held, fits = orjson.loads(signature(trace)), signature(trace)
    raw = base64.b64decode(held["signature"])
    swapped = base64.b64encode(bytes([raw[0] ^ 1]) + raw[1:]).decode()
    stranger = " ".join(make_key("eve").with_suffix(".pub").read_text().split()[:2])
    odd: list[Any] = [
        {**held, "signature": swapped},
        {**held, "key": stranger},
        {**held, "key": held["key"].replace("ssh-ed25519 ", "ssh-rsa ")},
        {**held, "key": held["key"][:40]},
        {**held, "key": None},
        {**held, "signature": 5},
        {**held, "more": 1},
        {"key": held["key"]},
        [],
        None,
        "x" * 5_000,
    ]
    for value in (*map(orjson.dumps, odd), b"", b"\xff", b"[" * 2_000):
        set_signature(trace, value)
        verdict = verify_file(trace)
        assert (verdict.verdict, verdict.signed_by) == ("damaged", None), value[:100]
    set_signature(trace, fits)
    assert verify_file(trace).verdict == "reproduced"


def test_jsonl_carries_the_signature_as_its_last_line_and_can_be_signed_itself(
    trace: Path, make_key: MakeKey, tmp_path: Path
) -> None:
    first, second, copy = make_key("ed"), make_key("ann"), tmp_path / "copy.trace.jsonl"
    assert quietly("export", trace, "-o", copy) == 0
    plain = copy.read_bytes()
    assert quietly("sign", trace, "--key", first) == 0
    assert quietly("export", trace, "-o", copy) == 0
    assert copy.read_bytes() == plain + b'{"signature":' + signature(trace) + b"}\n"
    assert verify_file(copy).signed_by == shown_by_ssh(first)
    # Without a line break at its end, as some editors leave a file.
    copy.write_bytes(plain.rstrip(b"\n"))
    for key in (first, second):
        assert quietly("sign", copy, "--key", key) == 0
        assert (verify_file(copy).verdict, verify_file(copy).signed_by) == ("reproduced", shown_by_ssh(key))
        assert copy.read_bytes().startswith(plain)
        assert copy.read_bytes().count(b"\n") == plain.count(b"\n") + 1
    assert not list(tmp_path.glob(".*draft"))


def test_what_is_signed_is_the_seal_under_a_name_of_ours(trace: Path, make_key: MakeKey, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    key = make_key("ed")
    assert quietly("sign", trace, "--key", key) == 0
    held = orjson.loads(signature(trace))
    public: Any = load_ssh_public_key(Path(f"{key}.pub").read_bytes())
    seal = verify_file(trace).seal
    assert seal is not None
    public.verify(base64.b64decode(held["signature"]), b"tradefair.seal/1\n" + seal.encode())
    assert held["key"] == " ".join(Path(f"{key}.pub").read_text(encoding="utf-8").split()[:2])
