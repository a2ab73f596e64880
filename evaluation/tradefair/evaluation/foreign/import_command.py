"""The command `import`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import print_json, say
from tradefair.contract.errors import ScenarioError, TraceError, unknown
from tradefair.evaluation.foreign.importers import run_importer


def import_logs(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Logs, transcripts, spans, or folders of them, of any known format."),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the traces.")],
    form: Annotated[
        str | None, typer.Option("--format", help="The format of all files; default: what each file's content says.")
    ] = None,
    redact: Annotated[
        list[str] | None,
        typer.Option("--redact", metavar="REGEX", help="Take what matches, and known secrets, out first."),
    ] = None,
    redact_field: Annotated[
        list[str] | None,
        typer.Option("--redact-field", metavar="NAME", help="Take fields of this name, and secrets, out first."),
    ] = None,
    keep_field: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Take secrets out first, but of no such field.")
    ] = None,
    redact_unknown: Annotated[
        bool, typer.Option("--redact-unknown", help="Take secrets and what looks random out first.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Turn what any agent has logged into traces: one per run, whatever the format.

    Public game logs are re-executed and compared (`import KIND FILE...` names their kind). Exit code 1 when something
    in a file could not be used, 2 when nothing could be read.
    """
    from tradefair.evaluation.foreign.importers import show_imported as show
    from tradefair.evaluation.foreign.importers.detect import game_readers

    if not paths[0].exists() and str(paths[0]) in game_readers():
        return _games(str(paths[0]), paths[1:], out, as_json=as_json)
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        # The first word may have been meant as a kind of game log.
        if missing[0] == str(paths[0]) and get_close_matches(missing[0], game_readers()):
            raise ScenarioError(
                f"{missing[0]}: no such file or folder; {unknown('importer', missing[0], game_readers())}"
            )
        raise ScenarioError(f"{', '.join(missing[:3])}: no such file or folder")
    from tradefair.evaluation.foreign.importers.importing import import_files
    from tradefair.tracestore.redaction import Redactor

    redactor = None
    if redact or redact_field or keep_field or redact_unknown:
        redactor = Redactor(redact or (), redact_field or (), keep=keep_field or (), unknown=redact_unknown)
    imported = import_files(paths, out, form=form, redact=redactor)
    if as_json:
        print_json(imported.to_json() | ({} if redactor is None else {"redacted": redactor.in_all}))
    else:
        show.show_imported(imported)
        if redactor is not None:
            say(f"taken out: {redactor.counted or 'nothing'}")
        say(f"traces in {out}")
    if imported.exit_code:
        raise typer.Exit(imported.exit_code)
    return None


def _games(kind: str, paths: Sequence[Path], out: Path, *, as_json: bool) -> None:
    """Logs of public games, all of one kind: re-executed, with the tallies of all of them together."""
    from tradefair.evaluation.foreign.importers import show_imported as show

    # Files that are named are taken whatever their ending; of folders only `*.jsonl`.
    files = [file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    if not files:
        raise TraceError(f"{', '.join(map(str, paths)) or kind}: no log here (*.jsonl)")
    report = run_importer(kind, files, out)
    if as_json:
        print_json(report.to_json())
    else:
        show.show_import(report)
        say(f"traces in {out}")
    if not report.sound:
        raise typer.Exit(1)
