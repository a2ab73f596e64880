"""The commands `verify` and `sign`: a few lines each over the functions that do the work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Annotated

import typer

from tradefair import tracestore
from tradefair.cli.terminal import print_json
from tradefair.evaluation.read.places import Places

AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def verify(
    paths: Places,
    chain: Annotated[bool, typer.Option("--chain", help="Check the hash chain only; do not re-execute.")] = False,
    signers: Annotated[
        Path | None,
        typer.Option("--signers", help="File of public keys, as in authorized_keys: each trace must be signed by one."),
    ] = None,
    no_seats: Annotated[
        bool, typer.Option("--no-seats", help="Do not play scripted seats again to compare their calls.")
    ] = False,
    partial_ok: Annotated[
        bool, typer.Option("--partial-ok", help="Exit code 0 also where a scripted seat could not be replayed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that traces are as they were sealed, and that the rules still give the same bytes.

    Exit code 0 when every trace is reproduced (--chain: intact; --partial-ok: or in part), and with --signers signed by
    a listed key, else 1.
    """
    from tradefair.evaluation.prove.verify import SOUND, TraceFinding, verify_file
    from tradefair.evaluation.verdict import terminal

    # Read first: a wrong file of keys is known before hours of re-execution.
    listed = None if signers is None else tracestore.signers_of(signers)
    # All are checked before anything is printed: the table is one, and its columns need every row.
    verdicts = [verify_file(place, chain_only=chain, seats=not no_seats) for path in paths for place in traces_of(path)]
    unlisted = [listed is not None and verdict.signed_by not in listed.fingerprints for verdict in verdicts]
    for verdict in compress(verdicts, unlisted):
        verdict.findings.append(TraceFinding(None, f"not signed by {listed}"))
    fine = SOUND | ({"reproduced in part"} if partial_ok else set[str]())
    sound = sum(check.verdict in fine and not strange for check, strange in zip(verdicts, unlisted, strict=True))
    if as_json:
        shown = [verdict.to_json() for verdict in verdicts]
        print_json({"traces": len(verdicts), "sound": sound, "verdicts": shown})
    else:
        terminal.show_checks(verdicts)
    finish(sound == len(verdicts))


def sign(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE...", exists=True, help="Trace files, or folders of them.")
    ],
    key: Annotated[Path, typer.Option("--key", help="Private Ed25519 key of ssh-keygen, without a passphrase.")],
    as_json: AsJson = False,
) -> None:
    """Sign the seals of traces, so that others can tell who vouches for them: `tradefair verify --signers FILE`.

    An earlier signature is replaced. Nothing is signed unless every trace is sealed.
    """
    private = tracestore.signing_key(key)
    files = [file for path in paths for file in tracestore.find_traces(path)]
    seals = [tracestore.check_signable(file) for file in files]
    rows = [
        {"path": str(file), "seal": seal, "signed_by": tracestore.sign_trace(file, private)}
        for file, seal in zip(files, seals, strict=True)
    ]
    if as_json:
        print_json({"signed": rows})
    else:
        from tradefair.evaluation.verdict import terminal

        terminal.show_signed(rows)


def traces_of(place: str) -> Sequence[str | Path]:
    """Trace files of a path, or the addresses of the traces in a store."""
    # Before paths: an address would be looked for as a file.
    if tracestore.is_store(place):
        return [stored.url for stored in tracestore.stored_traces(place)]
    return tracestore.find_traces(place)


def finish(fine: bool) -> None:
    """End the command with exit code 1 unless all is well."""
    if not fine:
        raise typer.Exit(1)
