"""Talk before the quotes: who may be addressed, and which seats a message reaches (double_auction page, 6.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tradefair.contract import Chance, IllegalAction, SeatId
from tradefair.double_auction.model import Chat, DoubleAuctionScenario, Message, role_of
from tradefair.double_auction.state import State
from tradefair.trading.talk import sized_words, words_of
from tradefair.trading.values import Roster

Outbox: TypeAlias = Mapping[SeatId, Message | None]
"""What every seat said in a round; null is silence."""

_GROUPS = ("all_traders", "all_sellers", "all_buyers")


def recipients(scenario: DoubleAuctionScenario) -> list[str]:
    """What may stand as a recipient, equal for all seats: group names, and a range of seat ids where seats may be."""
    chat, roster = scenario.chat, scenario.roster
    # all_traders reaches the own side too, so it goes where that is forbidden (6.6).
    named = [group for group in _GROUPS if group in chat.recipients and (chat.same_role or group != "all_traders")]
    if "seat" in chat.recipients:
        named += [f"{side[0]}..{side[-1]}" for side in roster]
    return named


def written(
    scenario: DoubleAuctionScenario, round_number: int, sender: SeatId, recipient: str, text: str
) -> Message | None:
    """The message as it will be delivered; None for silence, which is blank text.

    IllegalAction: message_too_long, unknown_id, recipient_is_self, recipient_not_allowed.
    """
    # First: silence has no recipient that could be wrong (6.6).
    if not words_of(text):
        return None
    words = sized_words(text, scenario.chat.max_words, scenario.chat.max_chars)
    reached = _addressees(scenario, sender, recipient)
    return Message(round_number, sender, recipient, reached, text, words)


def _addressees(scenario: DoubleAuctionScenario, sender: SeatId, recipient: str) -> tuple[SeatId, ...]:
    """The seats that a recipient stands for, in seat order and without the sender."""
    chat, roster = scenario.chat, scenario.roster
    # Before the roster, which would take it for any other seat.
    if recipient == sender:
        raise IllegalAction("recipient_is_self", "that is your own seat", hint=_allowed(scenario))
    if recipient in _GROUPS:
        reached = tuple(seat for seat in _group(roster, recipient) if seat != sender)
    elif recipient in roster.seats:
        reached = (recipient,)
    else:
        raise IllegalAction("unknown_id", "there is no such recipient", hint=_allowed(scenario))
    complaint = _forbidden(chat, sender, recipient, reached)
    if complaint is not None:
        raise IllegalAction("recipient_not_allowed", complaint, hint=_allowed(scenario))
    return reached


def _group(roster: Roster, group: str) -> Sequence[SeatId]:
    return {"all_traders": roster.seats, "all_sellers": roster.sellers, "all_buyers": roster.buyers}[group]


def _forbidden(chat: Chat, sender: SeatId, recipient: str, reached: Sequence[SeatId]) -> str | None:
    kind = recipient if recipient in _GROUPS else "seat"
    if kind not in chat.recipients:
        return "messages to single seats are not allowed here" if kind == "seat" else f"{kind} is not allowed here"
    # The sender is the only member of that group.
    if not reached:
        return f"{kind} reaches nobody but you"
    if not chat.same_role and any(role_of(seat) == role_of(sender) for seat in reached):
        return "messages to the own side are not allowed here"
    return None


def _allowed(scenario: DoubleAuctionScenario) -> str:
    side = "" if scenario.chat.same_role else ", of the other side only"
    return f"recipients are {', '.join(recipients(scenario))}{side}; an empty message is silence"


def check(state: State) -> None:
    """Every message reached its sender and its addressees, once, and no other seat; raises AssertionError."""
    spoke = {(message.round, message.sender) for message in state.messages}
    assert len(spoke) == len(state.messages), "a seat spoke twice"
    for seat, inbox in state.inbox.items():
        due = [message for message in state.messages if seat in (message.sender, *message.addressees)]
        assert inbox == due, "an inbox is not what was sent to the seat and by it"


def perturbed(state: State, seat: SeatId, chance: Chance, sealed: Outbox | None) -> dict[int, Outbox]:
    """By round, what all seats said, where all that `seat` cannot know is different: texts, addressees, existence.

    `sealed` holds the messages of the open talk phase; None while none is open.

    The outer key is the round, from 1 to the open one; empty without chat. Messages that `seat` sent or has heard stay
    as they are.
    """
    boxes: dict[int, dict[SeatId, Message | None]] = {}
    if not state.scenario.chat.enabled:
        return dict(boxes)
    for number in range(1, state.round + 1):
        boxes[number] = dict.fromkeys(state.roster.seats)
    for message in state.messages:
        boxes[message.round][message.sender] = message
    if sealed is not None:
        boxes[state.round] = dict(sealed)
    for number, box in boxes.items():
        pending = sealed is not None and number == state.round
        for sender, message in box.items():
            # What the seat sent or heard must stay as it was; a sealed message has been heard by no seat yet.
            heard = message is not None and seat in message.addressees and not pending
            if sender != seat and not heard:
                # Silence too may become a message: that a seat said nothing is private as well.
                box[sender] = _another(state, number, sender, seat, chance, message, sealed=pending)
    return dict(boxes)


def _another(
    state: State, number: int, sender: SeatId, unaware: SeatId, chance: Chance, message: Message | None, *, sealed: bool
) -> Message | None:
    """Something else that the seat may have said, or its silence, out of hearing of `unaware` unless it is sealed."""
    # Half of them disappear: that a message exists is private too (section 3).
    if message is not None and chance.uniform("silence", number, sender) < 0.5:
        return None
    candidates = [recipient for recipient in (*_GROUPS, *state.roster.seats) if recipient != sender]
    start = int(chance.uniform("recipient", number, sender) * len(candidates))
    # Within the scenario's cap on characters; one word fits every cap on words.
    text = f"perturbed-{int(chance.uniform('text', number, sender) * 1_000)}"[: state.scenario.chat.max_chars]
    # Onwards from a drawn one, to the first that the rules allow and that leaves the seat out.
    for recipient in (*candidates[start:], *candidates[:start]):
        try:
            made = written(state.scenario, number, sender, recipient, text)
        # A recipient that this scenario's chat rules exclude.
        except IllegalAction:
            continue
        if made is not None and (sealed or unaware not in made.addressees):
            return made
    return None
