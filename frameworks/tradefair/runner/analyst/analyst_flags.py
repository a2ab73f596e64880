"""Which model an analyst asks, and within what, as its options say."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tradefair.frameworks.models import ModelEndpoint
    from tradefair.frameworks.models.asking import Asker


@dataclass(frozen=True)
class Asked:
    """Which model is asked, within what, and what is done with its answers."""

    model: Annotated[str, typer.Option(help="Who is asked: openai:<model>, <provider>:<model> or replay:<file>.")]
    base_url: Annotated[str, typer.Option(help="OpenAI-compatible endpoint for openai:<model>.")] = ""
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of all requests and replies together.")] = None
    model_timeout: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds that a reply may take.")] = 120.0
    record: Annotated[Path | None, typer.Option(help="Append every model call to this file.")] = None
    replay: Annotated[Path | None, typer.Option(help="Answer from this file; no model is asked.")] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent, and its size; ask no model.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False

    @property
    def endpoint(self) -> ModelEndpoint:
        """The model's endpoint. Raises ScenarioError."""
        from tradefair.runner.agent_spec import read_endpoint

        return read_endpoint(self.model, self.base_url, self.model_timeout)

    def asker(self) -> AbstractAsyncContextManager[Asker]:
        """An asker of the model, closed afterwards."""
        from tradefair.frameworks.models.asking import open_asker

        return open_asker(self.endpoint, max_tokens=self.max_tokens, record=self.record, replay=self.replay)


@dataclass(frozen=True)
class AskedAtLength(Asked):
    """The same for answers of a page."""

    # A whole page takes a model longer than a score.
    model_timeout: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds that a reply may take.")] = 600.0
