"""Words of reviews and news, and the reader of their cues (retail page, 11.4).

A text is a pure function of an item and its uniforms, made when it is read: `draw(slot)` gives the uniform of one
choice, such as `partial(luck.uniform, Streams.NEWS_TEXT, item.day_key, item.slot)` for a news item and
`partial(luck.uniform, Streams.REVIEW_TEXT, day_key, product, supplier, lot, number)` for a review. Texts hold no digits
and no supplier ids: what is hidden can be guessed from words only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

from tradefair.retail.data.generator import category_table, data_table
from tradefair.retail.engine.world import NewsItem, NewsSide
from tradefair.retail.model import Store

Draw = Callable[[str], float]
"""The uniform of a slot, in (0, 1)."""

Dimension = Literal["quality", "price", "other"]
_DIMENSIONS: tuple[Dimension, ...] = ("quality", "price", "other")
_STAR_WORDS = ("one", "two", "three", "four", "five")
# By star: 1 and 2 are low, 3 is mixed, 4 and 5 are high (11.4).
_BANDS = ("low", "low", "mixed", "high", "high")
# Reviews without a closing sentence, as weights next to the table's closings.
_SILENT_CLOSINGS = 2
_CELLS: tuple[tuple[NewsSide, int, str], ...] = (
    ("need", 1, "need_up"),
    ("need", -1, "need_down"),
    ("supply", 1, "supply_up"),
    ("supply", -1, "supply_down"),
    ("both", 1, "both_up"),
    ("both", -1, "both_down"),
)
_CELL_NAMES = {(side, sign): name for side, sign, name in _CELLS}
# "[fly/flies] off the shelves": the verb for a plural and for a singular subject.
_VERB = re.compile(r"\[([^/\]]*)/([^\]]*)\]")
# Words with a digit or a per cent sign, such as a size in a description.
_FIGURES = re.compile(r"\S*[\d%]\S*")


# --- reviews --------------------------------------------------------------------------------------------------------


def review_dimension(stars: int, *, low_quality: bool, dear: bool, u: float) -> Dimension:
    """What a review is about (6.6): `low_quality` = true quality below 3, `dear` = price above 3 × unit cost.

    Bad stars speak of their cause four times in five; other reviews of anything alike.
    """
    # Steps in the order quality, price, other.
    if stars < 3 and low_quality:
        steps = (0.8, 0.9)
    elif stars < 3 and dear:
        steps = (0.1, 0.9)
    else:
        steps = (1 / 3, 2 / 3)
    return _DIMENSIONS[(u >= steps[0]) + (u >= steps[1])]


def review_text(category: str, stars: int, *, low_quality: bool, dear: bool, draw: Draw) -> str:
    """The text of a review of 1..5 stars; slots: dimension, opening, aspect, closing."""
    dimension = review_dimension(stars, low_quality=low_quality, dear=dear, u=draw("dimension"))
    return worded_review(category, stars, dimension, draw)


def worded_review(category: str, stars: int, dimension: Dimension, draw: Draw) -> str:
    """opening[stars] aspect[dimension, band, category] closing[dimension, band]?; slots: opening, aspect, closing."""
    parts = _review_parts(category, stars, dimension)
    opening = _pick(parts.openings, draw("opening"))
    return f"{opening} {_pick(parts.aspects, draw('aspect'))}{_pick(parts.closings, draw('closing'))}"


class _ReviewParts(NamedTuple):
    """Whole sentences; a closing brings its blank, or is empty."""

    openings: tuple[str, ...]
    aspects: tuple[str, ...]
    closings: tuple[str, ...]


@cache
def _review_parts(category: str, stars: int, dimension: Dimension) -> _ReviewParts:
    data = data_table("reviews")
    band = _BANDS[stars - 1]
    row = category_table().get(category)
    aspects = _quality_aspects(category, band) if dimension == "quality" else [*data[dimension][band]]
    # Recipes and taste are for food only.
    if dimension == "other" and category in data["food"]["categories"]:
        aspects += data["other_food"][band]
    noun = row.noun if row else "product"
    return _ReviewParts(
        openings=tuple(data["opening"][_STAR_WORDS[stars - 1]]),
        aspects=tuple(_sentence(aspect.replace("{noun}", noun)) for aspect in aspects),
        closings=("",) * _SILENT_CLOSINGS + tuple(f" {text}" for text in data["closing"][dimension][band]),
    )


def _quality_aspects(category: str, band: str) -> list[str]:
    """Clauses about quality for a band: praise, defects, or one of each joined for the middle."""
    data = data_table("reviews")
    words = data["quality"].get(category, data["quality"]["any"])
    if band != "mixed":
        return list(words["praise" if band == "high" else "defect"])
    return [
        joiner.replace("{praise}", praise).replace("{defect}", defect)
        for joiner in data["mixed"]["joiners"]
        for praise in words["praise"]
        for defect in words["defect"]
    ]


# --- what news is about ---------------------------------------------------------------------------------------------


class ProductWords(NamedTuple):
    """What the catalogue says about a product."""

    id: str
    category: str
    brand: str
    description: str


class Subject(NamedTuple):
    """What a news item is about, and the number of its verb."""

    words: str
    plural: bool


class StoreWords:
    """What news of a store can be about; categories and products in store order.

    Every subject differs from all others, so that a title names its scope without doubt.
    """

    def __init__(self, categories: Sequence[str], products: Sequence[ProductWords]) -> None:
        self._macro = [Subject(words, True) for words in data_table("news")["macro_subjects"]]
        self._categories = [_category_subject(name) for name in categories]
        self._products = _product_subjects(products, [*self._macro, *self._categories])

    @classmethod
    def of(cls, store: Store) -> StoreWords:
        """The words of a store."""
        names = [category.name for category in store.categories]
        rows = [ProductWords(row.id, names[row.category], row.brand, row.description) for row in store.products]
        return cls(names, rows)

    @property
    def macro(self) -> list[str]:
        """Subjects of news about the whole store."""
        return [subject.words for subject in self._macro]

    @property
    def categories(self) -> list[str]:
        """The subject of each category."""
        return [subject.words for subject in self._categories]

    @property
    def products(self) -> list[str]:
        """The subject of each product: brand and description without figures, told apart from all other subjects."""
        return [subject.words for subject in self._products]

    def subject(self, item: NewsItem, draw: Draw) -> Subject:
        """The subject of a business item; slot: subject."""
        if item.mode == "product":
            return self._products[item.product]
        if item.mode == "category":
            return self._categories[item.category]
        return _pick(self._macro, draw("subject"))

    def any_category(self, u: float) -> str:
        """The words for a category, chosen by a uniform: for decoys, which name one without consequence."""
        return _pick(self._categories, u).words


def _category_subject(name: str) -> Subject:
    """The words for a category: its plural from the table, else its name."""
    row = category_table().get(name)
    # A fitted store of a user may have categories that the table does not know.
    if row is None:
        return Subject(name.replace("_", " ").lower(), True)
    # A plural that equals the noun, such as "canned tuna", takes a singular verb.
    return Subject(row.plural, row.plural != row.noun)


def _product_subjects(products: Sequence[ProductWords], others: Iterable[Subject]) -> list[Subject]:
    taken = {subject.words.casefold() for subject in others}
    found: list[Subject] = []
    for product in products:
        plain = _without_figures(f"{product.brand} {product.description}") or _category_subject(product.category).words
        # Fitted stores hold products with one name; news must name one of them. "Oats kind A" is clumsy and
        # unambiguous.
        words, letter = plain, ord("A")
        while words.casefold() in taken:
            words, letter = f"{plain} kind {chr(letter)}", letter + 1
        taken.add(words.casefold())
        found.append(Subject(words, False))
    return found


def _without_figures(text: str) -> str:
    """The text without words that hold a digit or a per cent sign."""
    return " ".join(_FIGURES.sub(" ", text).split())


# --- news -----------------------------------------------------------------------------------------------------------


def news_title(item: NewsItem, words: StoreWords, draw: Draw) -> str:
    """subject[scope] movement[side, sign], which tells all but the strength.

    Slots: subject, movement; those of a neutral item: decoy, kind, entry, ….
    """
    if not item.business:
        return _neutral_entry(words, draw, part=0)
    subject = words.subject(item, draw)
    plural, singular = _movements()[_CELL_NAMES[item.side, item.sign]]
    before, after = _pick(plural if subject.plural else singular, draw("movement"))
    return _capital(f"{before}{subject.words}{after}")


def news_content(item: NewsItem, words: StoreWords, draw: Draw) -> str:
    """cause[side, sign, scope]. effect[side, sign, degree]. span[extra days]. filler?

    Slots: subject, cause, effect, degree, lasting, span, has_filler, filler; of a neutral item decoy, kind, entry, ….
    """
    data = data_table("news")
    sentences = _business(item, words, draw) if item.business else _neutral(words, draw)
    if draw("has_filler") < data["filler"]["share"]:
        sentences.append(_pick(data["filler"]["sentences"], draw("filler")))
    return " ".join(f"{sentence}." for sentence in sentences)


def _business(item: NewsItem, words: StoreWords, draw: Draw) -> list[str]:
    """Cause, effect and span of a business item."""
    data, cell = data_table("news"), _CELL_NAMES[item.side, item.sign]
    subject = words.subject(item, draw)
    cause = _pick(_numbered(cell, item.mode, plural=subject.plural), draw("cause"))
    degree = _pick(data["degree"][item.degree]["words"], draw("degree"))
    span = _pick(_spans()[item.extra_days], draw("span"))
    return [
        _capital(cause.replace("{subject}", subject.words)),
        _pick(data["effect"][cell], draw("effect")).replace("{degree}", degree),
        _pick(data["lasting"]["sentences"], draw("lasting")).replace("{span}", span),
    ]


def _neutral(words: StoreWords, draw: Draw) -> list[str]:
    """Two sentences of a neutral item, of the same kind as its title."""
    return [_neutral_entry(words, draw, part=1), _pick(_neutral_kind(draw)["second"], draw("second"))]


def _neutral_kind(draw: Draw) -> Any:
    """The phrases of a neutral item's kind; slots: decoy, kind. Title and content draw the same, so they agree."""
    *kinds, decoy = data_table("news")["neutral"]["kind"]
    # Decoys name a category without consequence, so that a name alone is no cue (11.4).
    return decoy if draw("decoy") < data_table("news")["neutral"]["decoy_share"] else _pick(kinds, draw("kind"))


def _neutral_entry(words: StoreWords, draw: Draw, *, part: int) -> str:
    """Title (part 0) or first sentence (part 1) of a neutral item; slots: decoy, kind, entry, town, firm, category."""
    data = data_table("news")["neutral"]
    text: str = _pick(_neutral_kind(draw)["items"], draw("entry"))[part]
    # Drawn only where the text has the slot; each slot has a uniform of its own, so that none shifts another.
    if "{town}" in text:
        text = text.replace("{town}", _pick(data["towns"], draw("town")))
    if "{firm}" in text:
        text = text.replace("{firm}", _pick(data["firms"], draw("firm")))
    if "{category}" in text:
        text = text.replace("{category}", words.any_category(draw("category")))
    return text


class _Form(NamedTuple):
    """What stands before and after the subject of a title."""

    before: str
    after: str


@cache
def _movements() -> dict[str, tuple[tuple[_Form, ...], tuple[_Form, ...]]]:
    """By cell: forms for a plural and for a singular subject."""
    return {
        cell: (tuple(_form(text, plural=True) for text in texts), tuple(_form(text, plural=False) for text in texts))
        for cell, texts in data_table("news")["movement"].items()
    }


def _form(text: str, *, plural: bool) -> _Form:
    """A movement of a title, with its verb in the subject's number, cut at the subject."""
    before, _, after = _verb(text, plural=plural).partition("{subject}")
    return _Form(before, after)


@cache
def _numbered(cell: str, mode: str, *, plural: bool) -> tuple[str, ...]:
    """Causes with their verbs in the subject's number."""
    return tuple(_verb(text, plural=plural) for text in data_table("news")["cause"][cell][mode])


def _verb(text: str, *, plural: bool) -> str:
    """The text with the plural or the singular form of its verb."""
    return _VERB.sub(r"\1" if plural else r"\2", text)


@cache
def _spans() -> dict[int, list[str]]:
    return {row["extra_days"]: row["words"] for row in data_table("news")["span"]}


# --- reading cues ---------------------------------------------------------------------------------------------------


class TitleCue(NamedTuple):
    """What a title tells: `target` is a category name, a product id, or None for news about everything."""

    mode: Literal["macro", "category", "product"]
    target: str | None
    side: NewsSide
    sign: int


class ContentCue(NamedTuple):
    """What a content adds: the strength that its degree word stands for, and the days listed after the first."""

    strength: float
    extra_days: int


class CueReader:
    """Reads news as a careful manager would, with nothing but the whole catalogue in its order.

    It inverts the grammar of this module, so it understands every generated item, and nothing else.
    """

    def __init__(self, catalogue: Sequence[ProductWords]) -> None:
        names = list(dict.fromkeys(row.category for row in catalogue))
        words = StoreWords(names, catalogue)
        # Subjects differ from one another, so one table for all three scopes has no clash.
        self._scopes: dict[str, tuple[Literal["macro", "category", "product"], str | None]] = {}
        self._scopes |= {text.casefold(): ("macro", None) for text in words.macro}
        self._scopes |= {
            text.casefold(): ("category", name) for text, name in zip(words.categories, names, strict=True)
        }
        self._scopes |= {
            text.casefold(): ("product", row.id) for text, row in zip(words.products, catalogue, strict=True)
        }

    def title(self, title: str) -> TitleCue | None:
        """Scope, side and sign; None without a business cue."""
        folded = title.casefold()
        for form, side, sign in _title_cues():
            if folded.startswith(form.before) and folded.endswith(form.after):
                scope = self._scopes.get(folded[len(form.before) : len(folded) - len(form.after)])
                # A neutral headline may end like a business one; it has no known subject, and the search goes on.
                if scope is not None:
                    return TitleCue(*scope, side, sign)
        return None

    def content(self, content: str) -> ContentCue | None:
        """Degree and span of a content, None where one of them is missing."""
        cues = _content_cues()
        degree, span = _found(cues.effect, content), _found(cues.span, content)
        if degree is None or span is None:
            return None
        return ContentCue(cues.strengths[degree], cues.extra_days[span])


@cache
def _title_cues() -> tuple[tuple[_Form, NewsSide, int], ...]:
    """All movements as they end and begin in titles, with the side and sign that they tell."""
    return tuple(
        (_Form(form.before.casefold(), form.after.casefold()), side, sign)
        for side, sign, cell in _CELLS
        for forms in _movements()[cell]
        # Some movements have no verb to inflect: both numbers give one form.
        for form in dict.fromkeys(forms)
    )


class _ContentCues(NamedTuple):
    """Patterns of whole sentences: a brand that is also a degree word must not be read as one."""

    effect: re.Pattern[str]
    span: re.Pattern[str]
    strengths: dict[str, float]
    extra_days: dict[str, int]


@cache
def _content_cues() -> _ContentCues:
    """The patterns of all effect and span sentences, and what their words stand for."""
    data = data_table("news")
    strengths = {word: row["strength"] for row in data["degree"] for word in row["words"]}
    extra_days = {word: days for days, words in _spans().items() for word in words}
    effects = [text for texts in data["effect"].values() for text in texts]
    return _ContentCues(
        _sentences(effects, "{degree}", strengths),
        _sentences(data["lasting"]["sentences"], "{span}", extra_days),
        strengths,
        extra_days,
    )


def _sentences(texts: Iterable[str], slot: str, words: Iterable[str]) -> re.Pattern[str]:
    """A pattern of any of the sentences with any of the words in their slot; the word is a group."""
    choice = "(" + "|".join(map(re.escape, words)) + ")"
    sentences = (choice.join(map(re.escape, text.split(slot))) for text in texts)
    return re.compile(r"(?:^|\. )(?:" + "|".join(sentences) + r")\.")


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    """The word in the slot of the first sentence that fits."""
    match = pattern.search(text)
    return match.group(match.lastindex or 0) if match else None


# --- wording --------------------------------------------------------------------------------------------------------

_T = TypeVar("_T")


def _pick(choices: Sequence[_T], u: float) -> _T:
    return choices[int(u * len(choices))]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(clause: str) -> str:
    return f"{_capital(clause)}."
