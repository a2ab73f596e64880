"""Numbers in chat as typed statements: no model, English only, linear time (bargaining page, 10.1).

A mechanical reading: what it cannot place is `unknown`, and nothing may be concluded from that. It knows neither irony
nor number words nor promises by reference ("same as before").
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

Role = Literal["buyer", "seller"]
Relation = Literal["=", ">=", "<=", "range"]
Kind = Literal[
    "round",
    "count",
    "payoff",
    "own_limit",
    "other_limit",
    "own_bound",
    "own_quote",
    "other_quote",
    "price",
    "no_trade",
    "unknown",
]


class Condition(NamedTuple):
    """What the counterpart's quote has to be for the statement to bind: `relation` to `y`.

    `now`: it speaks of the round in which it was said ("this time"), however long what follows from it shall last.
    """

    relation: Relation
    y: float
    now: bool = False

    def holds(self, quote: float) -> bool:
        """Whether a quote of the counterpart, in ticks, meets it."""
        # No other relation comes here: `_compared` and `_acceptable` make these two only.
        return quote >= self.y if self.relation == ">=" else quote <= self.y

    def negated(self) -> Condition:
        """The opposite, on whole ticks."""
        if self.relation == ">=":
            return Condition("<=", self.y - 1, self.now)
        return Condition(">=", self.y + 1, self.now)


@dataclass(frozen=True)
class Statement:
    """One number of a message, or a refusal to trade (`no_trade`, `x` null).

    `upper` is the end of a range. `horizon` are the first and last round that it speaks of, both included; `permanent`
    says that it was meant to stay. `span` lies in the normalised text, `clause` is the words around it, `sentence`
    counts from 0 over the message.
    """

    speaker: Role
    round: int
    kind: Kind
    relation: Relation
    x: float
    strength: Literal["firm", "soft"]
    horizon: tuple[int, int]
    permanent: bool
    span: tuple[int, int]
    clause: str
    upper: float | None = None
    condition: Condition | None = None
    sentence: int = 0

    @property
    def force(self) -> Literal["promise", "threat"] | None:
        """A conditional own quote that would trade is a promise, one that would not, or no trade at all, a threat."""
        if self.condition is None or self.kind not in ("own_quote", "no_trade"):
            return None
        # So that x and y cross, for a buyer as for a seller, where sign·(x - y) >= 0 (10.1, rule 6).
        sign = 1 if self.speaker == "buyer" else -1
        return "promise" if self.kind == "own_quote" and sign * (self.x - self.condition.y) >= 0 else "threat"


# --- words ------------------------------------------------------------------------------------------------------------

# In this order: "won't" and "can't" before the general "n't", which would leave "wo not".
_CONTRACTIONS = (
    ("won't", "will not"),
    ("can't", "can not"),
    ("cannot", "can not"),
    ("let's", "let us"),
    ("n't", " not"),
    ("i'm", "i am"),
    ("'ll", " will"),
    ("'ve", " have"),
    ("'re", " are"),
    ("'d", " would"),
)
# ">=" before ">": alternatives of the pattern below are tried in order.
_SYMBOLS = {"≥": " at least ", "≤": " at most ", ">=": " at least ", "<=": " at most ", ">": " above ", "<": " below "}
_SYMBOL = re.compile("|".join(map(re.escape, _SYMBOLS)))
_RANGE_DASH = re.compile(r"(?<=\d)\s?[-–—]\s?(?=\d)")
# A dash between words ends a clause like a comma; within a word ("break-even") it does not.
_OTHER_DASH = re.compile(r"\s[-–—]+\s|[–—]")

# A verb of one role speaks of that role's quote even without a pronoun: "ask 40", said by a buyer, is the other's.
_OWN_VERBS: dict[Role, str] = {"buyer": "bid|offer|pay", "seller": "ask|offer|sell|charge"}
_BOTH_VERBS = "quote|submit|set|put|post|keep|hold|accept|commit"
# Gerunds that are not made by dropping a final e and adding -ing.
_GERUNDS = {"set": "setting", "put": "putting", "submit": "submitting", "bid": "bidding", "commit": "committing"}
_NOUNS: dict[Role, str] = {"buyer": "valuation|value", "seller": "costs?"}
_LIMIT = (
    r"(?:valuation|value|costs?|limit|max(?:imum)?|min(?:imum)?|budget|cap|ceiling|floor|threshold|"
    r"reservation price|break[- ]?even)"
)
# What may stand between the noun and its number: "my value is only around 60".
_LINK = r"(?:\s(?:is|are|of|at|must be|only|around|about|capped at|=))*"

# No percentages, no parts of words (B1, v2), no longer decimals: such numbers are no prices.
_NUMBER = re.compile(
    r"(?<![\w.%])(?P<sign>[+-])?(?P<x>\d{1,3}(?:\.\d{1,2})?)(?:~(?P<upper>\d{1,3}(?:\.\d{1,2})?))?"
    r"(?P<more>\+|\sor (?:more|higher|above|better)\b|\sor (?:less|lower|below)\b)?(?![\w%]|\.\d|-[a-z])"
)
# A point before a digit belongs to a number.
_SENTENCE_END = re.compile(r"[!?;\n]+|\.(?!\d)")
# "and" starts a clause only where another statement follows; "40 and hold" is one clause.
_CLAUSE_START = re.compile(
    r",|\s(?=(?:but|so|then|otherwise|else|if|when|unless|as long as|provided|or (?:i|no)|"
    r"and (?:i|you|ask|bid|next|then))\b)"
)
# A wish, a possibility or a proposal: no commitment, even with a number.
_SOFT = re.compile(
    r"\b(?:can(?! not)|could|would|may|might|need|require|want|aim|hope|try|propose|suggest|consider|prefer|"
    r"willing|happy to|ready to|how about|what if|rather than|shall we)\b"
)
_PROPOSAL = re.compile(r"^.{0,60}\b(?:how about|what if|shall we)\b")
# What was is no statement about what will be quoted.
_PAST = re.compile(
    r"\b(?:last round|previous round|earlier|before|was|were|had|traded|asked|dropped|"
    r"(?:last|previous) (?:bid|ask|quote|price))\b"
)
_NO_TRADE = re.compile(r"\b(?:no trade|no deal|no bid|no ask|nothing|skip|walk(?: away)?|zero for both)\b")
_CONDITIONAL = re.compile(r"\b(?:if|when|as long as|provided|should you|unless)\b")
# These negate the condition before them instead of making one.
_ELSE = re.compile(r"^\s*(?:otherwise|else|if not|or no|or i)\b")
# "Any ask above 60": a condition without an if.
_QUOTE_ABOVE = re.compile(
    r"^\s*(?:any )?(?:ask|bid|asks|bids|asking|bidding)\s(?:above|below|over|under|at least|at most)\b"
)

# Promise, commit and standing say that a statement stays, but name no rounds: `_horizon_in` does not know them.
_PERMANENT = re.compile(
    r"\b(?:every|each|all remaining|always|from now on|going forward|the rest|forever|permanently|"
    r"promise|commit|standing)\b"
)
_THIS_TIME = re.compile(r"\bthis (?:time|round)\b")
# "through 12", "rounds 5 and 6": the number is a round, not a price.
_ROUND_WORDS = re.compile(r"\b(?:rounds?|through|until)\s(?:round\s)?(?:\d{1,3}\s(?:and|or)\s)?$")
# "3 more rounds": a count.
_COUNT_AFTER = re.compile(
    r"^\s(?:(?:more|remaining|straight|consecutive|final|last|successful|steady|good|easy)\s)*"
    r"(?:rounds|trades|times|deals)\b"
)
# "a profit of 12", "leaves you 5": what a trade earns, not its price.
_PAYOFF_BEFORE = re.compile(
    r"\b(?:profits?|payoffs?|surplus|gains?|margin|earns?|makes?|gets?|mine|yours|total|"
    r"(?:giv|leav)(?:es?|ing)\s(?:me|you))(?:\s(?:is|of|at|about|only|=))*\s$"
)
_PAYOFF_AFTER = re.compile(r"^\s?(?:(?:in |of )?(?:profit|surplus|payoff)\b|for (?:me|you)\b|/\s?round)")
_PRICE_WORDS = r"trad(?:e|es|ed|ing)|clear(?:s|ed|ing)?|deal|prices?|midpoint"
# "trade at 45", "settle on 45", "stick with 45": the price of a trade, not one side's quote.
_PRICE_BEFORE = re.compile(
    rf"\b(?:(?:{_PRICE_WORDS})(?:\s(?:is|at|of|to|a|around|about|near|closer|close))*|"
    r"lock(?:ed)?(?: in)?(?: reliable)?|settle(?: on)?|"
    r"target|try|aim for|go for|return to|(?:continue|stick|stay|stand|committed)(?:\s(?:with|to|on|by))?|at)"
    r"(?:\s(?:around|about|near))?\s$"
)
_PRICE_AFTER = re.compile(r"^\sprice\b")
_AT_START = re.compile(r"^\s*at\s$")


# First words of a clause after which the speaker is still the subject: "then bid 51", "will keep 40".
_LEADS = frozenset({"and", "so", "then", "now", "any", "will", "next", "us", "still", "continue"})


def normalised(text: str) -> str:
    """Lower case, straight quotes, contractions opened, comparison signs as words, `~` for a range of digits."""
    # Entities and full-width digits get the form that the patterns know.
    plain = unicodedata.normalize("NFKC", html.unescape(text)).lower()
    plain = plain.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    # After the quotes: a curly apostrophe is as frequent as a straight one.
    for short, long in _CONTRACTIONS:
        plain = plain.replace(short, long)
    plain = _SYMBOL.sub(lambda found: _SYMBOLS[found[0]], plain)
    # Before the other dashes: the dash of "45-50" ends no clause.
    plain = _RANGE_DASH.sub("~", plain)
    plain = _OTHER_DASH.sub(", ", plain)
    # "my bid: 45" and "my bid = 45" say the same.
    plain = plain.replace("=", " = ").replace(":", " = ")
    return re.sub(r"[^\S\n]+", " ", plain)


# --- reading ----------------------------------------------------------------------------------------------------------


class _Clause(NamedTuple):
    """`start` counts in the text, `place` in the sentence."""

    start: int
    place: int
    text: str
    question: bool


def read_statements(text: str, speaker: Role, round_number: int, rounds: int) -> list[Statement]:
    """What a message of `speaker` says in numbers, in the order of the text; numbers of the past are left out.

    `rounds` is R. Total: no text raises.
    """
    found: list[Statement] = []
    for number, (sentence, clauses) in enumerate(_sentences(normalised(text))):
        said = _Sentence(sentence, clauses, speaker, round_number, rounds).read()
        found += (replace(statement, sentence=number) for statement in said)
    return found


def _sentences(text: str) -> Iterator[tuple[str, list[_Clause]]]:
    """The sentences that hold any text, each with its clauses."""
    start = 0
    # None: the end of the text closes the last sentence.
    for end in [*_SENTENCE_END.finditer(text), None]:
        stop = len(text) if end is None else end.start()
        sentence = text[start:stop]
        if sentence.strip():
            yield sentence, list(_clauses(sentence, start, question=end is not None and "?" in end[0]))
        start = stop if end is None else end.end()


def _clauses(sentence: str, offset: int, *, question: bool) -> Iterator[_Clause]:
    start = 0
    for cut in [*_CLAUSE_START.finditer(sentence), None]:
        stop = len(sentence) if cut is None else cut.start()
        if sentence[start:stop].strip():
            yield _Clause(offset + start, start, sentence[start:stop], question)
        start = stop if cut is None else cut.end()


_WINDOW = 120
"""Characters before a number that can decide what it is; more would make long clauses quadratic."""


class _Sentence:
    """Reads the clauses of one sentence and binds conditions to what they govern.

    A condition before a clause governs what follows it in the sentence; one behind a clause governs that clause only.
    """

    def __init__(
        self, sentence: str, clauses: Sequence[_Clause], speaker: Role, round_number: int, rounds: int
    ) -> None:
        self._sentence = sentence
        self._clauses = clauses
        self._speaker: Role = speaker
        self._other: Role = "seller" if speaker == "buyer" else "buyer"
        self._round = round_number
        self._rounds = rounds
        own, theirs = _OWN_VERBS[speaker], _OWN_VERBS[self._other]
        self._own_verb = _verb_forms(f"{own}|{_BOTH_VERBS}")
        self._their_verb = _verb_forms(theirs)
        self._any_verb = re.compile(rf"\b(?:{_verb_forms(f'{own}|{theirs}|{_BOTH_VERBS}')})\b")

    def read(self) -> list[Statement]:
        """All statements, conditions bound."""
        found: list[Statement] = []
        leading: Condition | None = None
        latest: Statement | None = None
        for clause in self._clauses:
            made = list(self._statements(clause))
            antecedent = self._antecedent(clause, made)
            if antecedent is not None:
                trailing = bool(found) and leading is None and _CONDITIONAL.match(clause.text.lstrip()) is not None
                if trailing:
                    # "I bid x if you ask y": the condition governs the clause before it.
                    found[-1] = self._bound(found[-1], antecedent)
                else:
                    leading = antecedent
                found += made
                latest = made[-1] if made else latest
                continue
            # Between reading and binding: the clause's own statements stand under the opposite already.
            if _ELSE.match(clause.text):
                leading = self._opposite(leading, latest)
            found += [self._bound(statement, leading) for statement in made]
            # A refusal names no number, so it is a statement of its own. Only under a condition is it a threat, and "40
            # or no trade" is a quote.
            refusal = _NO_TRADE.search(clause.text)
            if (
                refusal is not None
                and leading is not None
                and not any(statement.kind == "own_quote" for statement in made)
            ):
                found.append(self._refusal(clause, refusal, leading))
            latest = made[-1] if made else latest
        return found

    def _bound(self, statement: Statement, condition: Condition | None) -> Statement:
        """Only what the speaker says of its own quote can stand under a condition."""
        bound = condition is not None and statement.kind == "own_quote"
        return replace(statement, condition=condition) if bound else statement

    def _opposite(self, leading: Condition | None, latest: Statement | None) -> Condition | None:
        """`otherwise` negates the latest condition or, without one, the number just named."""
        if leading is not None:
            return leading.negated()
        if latest is None or latest.kind not in ("own_quote", "other_quote", "price"):
            return None
        return self._acceptable(latest.x).negated()

    def _acceptable(self, x: float) -> Condition:
        """x or better for the speaker."""
        return Condition("<=" if self._speaker == "buyer" else ">=", x)

    def _antecedent(self, clause: _Clause, made: Sequence[Statement]) -> Condition | None:
        words = clause.text.lstrip()
        opens = _CONDITIONAL.match(words) or _QUOTE_ABOVE.match(words)
        # "If not" has no condition of its own: it negates the one before (`_ELSE`).
        if opens is None or words.startswith("if not"):
            return None
        # Limits, profits and rounds set no condition on a quote.
        kinds = ("other_quote", "price", "own_quote", "unknown")
        number = next((statement for statement in made if statement.kind in kinds), None)
        if number is None:
            return None
        condition = self._compared(clause, number)._replace(now=_THIS_TIME.search(clause.text) is not None)
        return condition.negated() if opens[0] == "unless" else condition

    def _compared(self, clause: _Clause, number: Statement) -> Condition:
        before = clause.text[: number.span[0] - clause.start]
        if number.relation in (">=", "<="):
            return Condition(number.relation, number.x)
        # Not a relation of the number itself: above 60 means from the next tick on.
        if re.search(r"\b(?:above|over|more than)\s$", before):
            return Condition(">=", number.x + 1)
        if re.search(r"\b(?:below|under|less than)\s$", before):
            return Condition("<=", number.x - 1)
        return self._acceptable(number.x)

    def _refusal(self, clause: _Clause, found: re.Match[str], condition: Condition) -> Statement:
        span = clause.start + found.start(), clause.start + found.end()
        horizon, permanent = self._horizon(clause)
        strength = self._strength(clause)
        text = clause.text.strip()
        return Statement(
            self._speaker, self._round, "no_trade", "=", 0.0, strength, horizon, permanent, span, text, None, condition
        )

    def _statements(self, clause: _Clause) -> Iterator[Statement]:
        past = self._is_past(clause)
        horizon, permanent = self._horizon(clause)
        strength = self._strength(clause)
        for number in _NUMBER.finditer(clause.text):
            before = clause.text[max(0, number.start() - _WINDOW) : number.start()]
            after = clause.text[number.end() : number.end() + _WINDOW]
            kind = self._kind(clause, number, before, after)
            # What was quoted binds nothing, but a limit or profit named for the past still gives the limit away (10.2,
            # value_leak).
            if past and kind not in ("round", "count", "payoff", "own_limit", "other_limit"):
                continue
            yield Statement(
                speaker=self._speaker,
                round=self._round,
                kind=kind,
                relation=_relation(number, before),
                x=float(number["x"]),
                # A bare price is a proposal (10.1, rule 3).
                strength="soft" if kind == "price" and not before.strip() else strength,
                horizon=horizon,
                permanent=permanent,
                span=(clause.start + number.start(), clause.start + number.end()),
                clause=clause.text.strip(),
                upper=None if number["upper"] is None else float(number["upper"]),
            )

    def _is_past(self, clause: _Clause) -> bool:
        if _PAST.search(clause.text):
            return True
        named = re.search(r"\bround (\d{1,3})\b", clause.text)
        return named is not None and int(named[1]) < self._round

    def _strength(self, clause: _Clause) -> Literal["firm", "soft"]:
        return "soft" if clause.question or self._proposes or _SOFT.search(clause.text) else "firm"

    @cached_property
    def _proposes(self) -> bool:
        """Whether the whole sentence is a proposal: "how about you bid 60 and I commit to 59"."""
        return _PROPOSAL.match(self._sentence) is not None

    # --- what a number is: the first that matches ------------------------------------------------------------------

    def _kind(self, clause: _Clause, number: re.Match[str], before: str, after: str) -> Kind:
        if _ROUND_WORDS.search(before):
            return "round"
        if _COUNT_AFTER.match(after):
            return "count"
        if number["sign"] == "+" or _PAYOFF_BEFORE.search(before) or _PAYOFF_AFTER.match(after):
            return "payoff"
        limit = self._limit(before, after)
        if limit is not None:
            return limit
        if re.search(r"\b(?:i|my)\b.{0,40}\b(?:not|never|refuse)\b.{0,30}\b(?:above|over|below|under)\s$", before):
            return "own_bound"
        return self._offer(clause, number, before, after)

    def _limit(self, before: str, after: str) -> Kind | None:
        # Forms (a) and (c) of the page: "my cost is 20", "I value it at 60".
        if re.search(rf"\bmy\s(?:\w+\s){{0,2}}?{_LIMIT}{_LINK}\s$", before) or re.search(
            r"\bi (?:value(?: it)?(?: at)?|cost)\s$|\bcapped at\s$", before
        ):
            return "own_limit"
        # Form (b): "60 is my limit".
        if re.match(rf"^\s(?:is|as)\smy\s(?:\w+\s){{0,2}}?{_LIMIT}\b", after) or re.match(
            rf"^,?\sthat is my {_LIMIT}\b", after
        ):
            return "own_limit"
        # Form (e), the price of zero profit: "60 leaves me with nothing".
        if re.match(r"^\s(?:gives|leaves|yields)\sme\s(?:with\s)?(?:zero|nothing)\b", after) or re.search(
            r"\bzero profit at\s$", before
        ):
            return "own_limit"
        if re.search(rf"\byour\s(?:\w+\s){{0,2}}?{_LIMIT}{_LINK}\s$", before):
            return "other_limit"
        # Form (d), the role's noun right before the number: "cost 19" is the seller's own limit and the buyer's guess.
        noun = re.search(r"\b(\w+)\s(?:(?:is|=)\s)?$", before)
        if noun is not None and not re.search(r"\byour\b", before):
            if re.fullmatch(_NOUNS[self._speaker], noun[1]):
                return "own_limit"
            if re.fullmatch(_NOUNS[self._other], noun[1]):
                return "other_limit"
        return None

    def _offer(self, clause: _Clause, number: re.Match[str], before: str, after: str) -> Kind:
        # An ultimatum is a quote, whatever stands before the number.
        if re.match(r"^\s?or (?:no (?:trade|deal)|nothing)\b", after) or self._refused_next(clause, number):
            return "own_quote"
        frame = self._frame(before)
        if frame is not None:
            return frame
        if _PRICE_BEFORE.search(before) or _PRICE_AFTER.match(after) or _AT_START.match(before):
            return "price"
        if re.search(r"\bmeet\b.{0,20}\sat\s$", before):
            return "price"
        return "price" if not before.strip() and not after.strip(' ".') else "unknown"

    def _refused_next(self, clause: _Clause, number: re.Match[str]) -> bool:
        """Whether the sentence goes on with `or no trade` right after the number, which a clause break hides."""
        place = clause.place + number.end()
        return re.match(r"\s?or no (?:trade|deal)\b", self._sentence[place : place + 20]) is not None

    def _frame(self, before: str) -> Kind | None:
        """The nearest verb before the number, at most six words away, and the seat that it speaks of."""
        verbs = list(self._any_verb.finditer(before))
        if not verbs:
            return None
        verb = verbs[-1]
        between, lead = before[verb.end() :], before[: verb.start()]
        # Further away the verb likely has another object (10.1, rule 3).
        if len(between.split()) > 6:
            return None
        if re.search(rf"\b(?:{_PRICE_WORDS})\b", between):
            return "price"
        # "I will not bid 45" says nothing about what it will bid.
        if re.search(r"\b(?:not|never|no)\b(?:\s\w+){0,2}\s?$", lead):
            return "unknown"
        return self._owner(verb[0], lead)

    def _owner(self, verb: str, lead: str) -> Kind | None:
        own = re.fullmatch(self._own_verb, verb) is not None
        theirs = re.fullmatch(self._their_verb, verb) is not None
        # A request is about the other's quote, with "you" or without.
        if re.search(r"\bplease\s$", lead):
            return "other_quote"
        people = re.findall(r"\b(i|my|we both|us both|you|your)\b", lead)
        nearest = people[-1] if people else None
        if nearest in ("you", "your"):
            return "other_quote"
        if nearest is not None:
            return "own_quote" if own else "unknown"
        if theirs and not own:
            return "other_quote"
        # Clause-initial: "bidding 51", "moving to bid 51", "sticking with bid 58", "bid 51".
        words = lead.split()
        leads = not words or words[0].endswith("ing") or words[0] in _LEADS
        return "own_quote" if own and leads else "unknown"

    # --- when ------------------------------------------------------------------------------------------------------

    def _horizon(self, clause: _Clause) -> tuple[tuple[int, int], bool]:
        default, begins, permanent = self._whole
        found = self._horizon_in(clause.text) or default
        if begins is not None and found[1] == self._rounds:
            # "From round 9 on …, for the rest of the game": the end is said later than the beginning.
            found = begins, self._rounds
        first, last = found
        return (min(first, self._rounds), min(max(first, last), self._rounds)), permanent

    @cached_property
    def _whole(self) -> tuple[tuple[int, int], int | None, bool]:
        """What the sentence says: its horizon, the round that it begins with, whether it is meant to stay."""
        begins = re.search(r"\bfrom round (\d{1,3})\b", self._sentence)
        horizon = self._horizon_in(self._sentence) or (self._round, self._round)
        return horizon, None if begins is None else int(begins[1]), _PERMANENT.search(self._sentence) is not None

    def _horizon_in(self, text: str) -> tuple[int, int] | None:
        now, end = self._round, self._rounds
        # The first form that fits counts: "rounds 5 to 9" must be read before the plain "round 5".
        if found := re.search(r"\bfrom round (\d{1,3})\b", text):
            return int(found[1]), end
        if found := re.search(r"\brounds? (\d{1,3})(?:~| to | through | and )(\d{1,3})\b", text):
            return int(found[1]), int(found[2])
        if found := re.search(r"\b(?:final|last) (\d{1,3}) rounds\b", text):
            return max(1, end - int(found[1]) + 1), end
        if re.search(r"\b(?:final|last round of)\b|\bin the last round\b", text):
            return end, end
        if re.search(
            r"\b(?:every|each|all remaining|always|from now on|going forward|the rest|forever|permanently)\b", text
        ):
            return now, end
        if found := re.search(r"\b(?:through|until) (?:round )?(\d{1,3})\b", text):
            return now, int(found[1])
        if re.search(r"\b(?:next round|thereafter)\b|^\s*then\b", text):
            return now + 1, now + 1
        if found := re.search(r"\bround (\d{1,3})\b", text):
            return int(found[1]), int(found[1])
        return None


def _verb_forms(verbs: str) -> str:
    """Plain, third person and gerund of each verb of an alternation."""
    forms: list[str] = []
    for verb in verbs.split("|"):
        gerund = _GERUNDS.get(verb, f"{verb.removesuffix('e')}ing")
        forms += [verb, f"{verb}s", gerund]
    return "|".join(forms)


def _relation(number: re.Match[str], before: str) -> Relation:
    if number["upper"] is not None:
        return "range"
    more = number["more"]
    if more is not None:
        return "<=" if more.endswith(("less", "lower", "below")) else ">="
    if re.search(r"\bat least\s$", before):
        return ">="
    return "<=" if re.search(r"\bat most\s$", before) else "="
