"""What a message, a proposal or a payment should rest on, and which counterparts or proposals a read was about.

The tools declare categories and scopes, evaluation reads them (marketplace page, sections 5 and 10). Nothing here
decides what a seat may do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tradefair.contract import EvidenceMap, Need


class EvidenceScene(NamedTuple):
    """What an answer showed: the `refs` of its event, `<handle>`, `<proposal id>` and `<handle>.<surface>`."""

    refs: Sequence[str] = ()


EVIDENCE_MAP: EvidenceMap = {
    "send_message": (Need(("market_listing", "counterpart_profile"), "episode", object_arg="to"),),
    "send_proposal": (Need(("own_catalogue",), "episode"), Need(("counterpart_message",), "episode", object_arg="to")),
    "pay_proposal": (
        Need(("own_objective",), "episode"),
        Need(("offer_terms", "offer_comparison"), "episode", object_arg="proposal"),
    ),
}
"""Action -> what the seat should have looked at before, in this episode.

The need of `send_message` is a customer's: a business answers those who have written to it.
"""


def shown_ids(arguments: Mapping[str, Any], scene: EvidenceScene) -> Collection[str]:
    """The handles and proposal ids that the answer showed."""
    # A text of a business shows the business as well: the part before the dot.
    return {ref.partition(".")[0] for ref in scene.refs}


def named_business(arguments: Mapping[str, Any], scene: EvidenceScene) -> Collection[str]:
    """The business in the arguments."""
    return (str(arguments.get("business")),)
