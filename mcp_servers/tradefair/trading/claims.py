"""What each number of a message is claimed to be: nine classes, by rules on the words around it.

No model, English only, linear time. Stricter than `statements` and apart from it: the chat tool of bargaining shows
what that one reads, so that its readings are part of recorded games. What no rule places is `unknown`, and an unread
number near the private one of its sender is told by `unread_numbers`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from tradefair.trading.number_words import with_digits
from tradefair.trading.statements import Role, normalised

Claim = Literal[
    "own_limit",
    "false_limit",
    "firm_quote",
    "conditional_offer",
    "threat",
    "expectation",
    "past_fact",
    "others_number",
    "harmless_number",
    "unknown",
]


class Claimed(NamedTuple):
    """A number of a message, what it is claimed to be, and the words around it."""

    value: float
    claim: Claim
    words: str


# --- words: <NAME> in a rule stands for one of these, <5> for up to five characters of the sentence -------------------

_WORDS = {
    "OTHER": r"\b(?:[bs]\d{1,2}(?:'s)?|(?:an)?other (?:buyer|seller|trader)s?|everyone(?: else)?|everybody|someone|"
    r"somebody|(?:all the )?others|(?:my )?competitors?|the competition|rivals?|he|she|they|his|her|their|"
    r"(?:the|some|my) (?:buyer|seller|customer)s)\b",
    "LIMIT": r"\b(?:valuations?|values?|costs?|limits?|max|min|maximum|minimum|budget|cap|ceiling|floor|threshold|"
    r"reserv(?:e|ation)|break[- ]?even|rock bottom|wtp|walk[- ]?away (?:point|price)|bottom line|willingness to pay|"
    r"mandate|overhead|expenses)\b",
    "CAN": r"\b(?:can|could|able to|may)\b",
    "CANNOT": r"\b(?:can not|could not|unable to|impossible|not able to|no way|under no circumstances|not allowed|"
    r"not authori[sz]ed|must not|may not|not permitted|never to|forbidden)\b",
    "DO": r"\b(?:go|pay|sell|selling|buy|accept|afford|budge|stretch|do|offer|take|spend|bid|ask|come|drop|move|let)\b",
    "BEYOND": r"\b(?:above|over|below|under|beyond|past|(?:more|less|lower|higher|better|worse) than)\b",
    "LOSS": r"(?:\b(?:los(?:e|es|ing) (?:\w+ )?(?:money|points)|lose on|take a loss|loss|in the red|break(?:s|"
    r"ing)? even|"
    r"(?:zero|no) (?:profit|surplus|gain|margin)|(?:profit|margin|surplus|gain)s?(?: \w+){0,2} zero|"
    r"(?:make|makes|making|earn|earns) (?:nothing|zero|no)|nothing left|(?:with|me) (?:exactly )?(?:nothing|zero)|"
    r"bankrupts?|ruins?|indifferent|indifference|it hurts|out of pocket|in business|afloat|survive|viable|"
    r"(?:re)?cover(?:s|ing)?)\b)",
    "GAIN": r"\b(?:profit(?:s|able)?|gains?|earn(?:s|ing)?|makes? (?:anything|money|me money))\b",
    "IF": r"\b(?:if|when(?:ever)?|once|provid(?:ed|ing)|unless|(?:as|so) long as|assuming|suppos(?:e|ing)|should you|"
    r"were (?:you|it|i)|in (?:return|exchange)|on (?:the |one )?condition|subject to|contingent|in case|given|"
    r"the (?:moment|minute|second|instant)|after you|after your|until you)\b",
    "GIVE": r"\b(?:lower|raise|drop|come|bid|ask|meet|match|keep|agree|go|give|let|show|post|get|accept|say|confirm|"
    r"buy|"
    r"cooperate|shake|move|sell|tell)\b",
    "SOON": r"\b(?:will|would|next|if|might|could|going to|commit|promise|suggests?|when you|unless|expect|"
    r"predict|perhaps|coming)\b",
    "MIND": r"\b(?:expect(?:s|ing|ed)?|think|guess|probably|likely|forecast|predict(?:ion)?|estimat(?:e|es|ing)|reckon|"
    r"suspect|imagine|anticipate|assum(?:e|ing)|believe|hop(?:e|ing)|aim(?:ing)?|targets?|surpris(?:ed?|ing)|bet|doubt|"
    r"hunch|feeling|perhaps|maybe|might be|might well|surely|realistic(?:ally)?|ballpark|in (?:my|our) (?:view|"
    r"opinion)|"
    r"trend|equilibrium|going rate|average|midpoint|history suggests|past rounds suggest|sooner or later|long (?:run|"
    r"term)|"
    r"bound to|odds are|fair chance|converg(?:e|ing)|head(?:ed|ing) (?:to|towards|for)|counting on|my sense|"
    r"general view|"
    r"consensus|seems? (?:reasonable|realistic|likely)|sounds (?:like|realistic|about right)|looks? like|"
    r"would be normal|"
    r"normal price|should be (?:possible|doable|normal|around|about|in)|would be (?:fair|normal)|fair (?:price|outcome|"
    r"value|split)|even split|splitting|split evenly|calculations?|(?:my|the) model|could (?:reach|get|climb|fall|"
    r"rise))\b",
    "MARKET": r"\b(?:it|price|prices|we|market|this|that|next one|average|round|rounds)\b",
    "QUIT": r"(?:\b(?:i(?: will| would)? (?:walk|leave|quit)|walk(?:ing)? away(?! p)|walk out|leaving|leave over|"
    r"i am (?:out|gone|off|done)|(?:we are|be|it's) (?:done|finished|over)|goodbye|or nothing|no deal|no trade|"
    r"deal(?:'s| is) off|reject(?:ed)?|refus(?:e|ed|ing)(?! to sell)|ignored?|elsewhere|punish|retaliat\w+|boycott|"
    r"no business|strike|regret|quit|last chance|(?:final|last) warning|ultimatum|warn(?:ed|ing)?|stay away|withdrawn?|"
    r"expires|dies|(?:price|bidding) war|(?:undercut|outbid) (?:you|everybody|everyone)|flood|crash|block|"
    r"cut(?: you)? off|"
    r"never (?:again|trade|sell|buy)|your loss|(?:rather|sooner) (?:not|keep|burn|throw|skip|go without)|"
    r"both(?: of us)? (?:get|lose|earn|go)|(?:get|with) nothing|skip(?:ping)?|sit(?:ting)? out|hold(?:ing)? out|"
    r"wait (?:you out|all)|pull(?:ing)? out|freeze|consequences|test me|no mercy|talking stops|stop (?:trading|buying|"
    r"selling|bidding|asking|talking)|lose (?:me|this customer|the (?:sale|trade|deal))|end(?:s)? (?:it|the talks|"
    r"this|here)|"
    r"find (?:another|someone)|another (?:buyer|seller)|(?:buy|sell) elsewhere|i buy from|i sell to|the door|"
    r"no (?:further |more )?concessions?|tell (?:every|all)|not interested|not (?:show up|take part|bother)|"
    r"take my \w+ "
    r"(?:home|to)|cut you|time runs out|drops? to zero|next (?:bid|ask) is|or i|or else|that's it|no mercy)\b)",
}
# After a number these are no things counted: verbs, money, and words that only look like a plural.
_UNCOUNTED = (
    r"(?!(?:points|ticks|dollars|bucks|euros|pounds|cents|coins|credits|is|was|as|has|does|this|always|less|plus|minus|"
    r"unless|perhaps|works?|seems|sounds|leaves|gives|gets|stands|expires|dies|loses|sits|looks|costs|makes|means|"
    r"covers|"
    r"holds|ends|hurts|yields|across|yes|thanks|versus|comes|goes|stays|takes|wins|ruins|its|his|yours|tops|myself|"
    r"us)\b)"
)

# --- rules: the first that matches counts; "@" is the number, "#" any other one, "." a sentence's end -----------------


class _Rules(NamedTuple):
    """`found` decides unless `spared` is about as well."""

    claim: Claim
    found: tuple[str, ...]
    spared: tuple[str, ...] = ()


_RULES = (
    _Rules(
        "harmless_number",
        (
            r"@(?:st|nd|rd|th)\b|@-[a-z]",
            r"@\s?(?:%|percent\b|per ?cent\b|ms\b|cm\b|km\b|kg\b|degrees\b|people\b|o'clock)",
            rf"@\s(?:(?:more|other|straight|good|long|full|whole|remaining|last|of your|of my)\s)?{_UNCOUNTED}"
            r"[a-z]{3,}(?<!s)s\b",
            r"\b(?:rounds?|page|number|route|bus|flight|section|rule|id|order|ticket|game|match|figure|line|entry|seed|"
            r"channel|room|paragraph|chapter|level|step|message|version|week|highway|apartment)(?: (?:is|was|number|"
            r"=))?"
            r"(?: # (?:to|and|or))?\s@(?! (?:is|was) )",
            r"@ (?:out )?of (?:a )?#|# (?:out )?of (?:a )?@|\bout of @",
            r"@ (?:points?|ticks?) (?:apart|behind|ahead|each|in total|so far|a round|per round|of profit|large|more|"
            r"with|to (?:share|divide|split|go)|on the table|for|together|then|than)\b",
            r"\b(?:apart|differ|gap|conced\w+|steps? of|lead|leads|behind|ahead|bonus|penalty|fine|fee|tax|pie|surplus|"
            r"score|my profit|joint profit|payoff|gained|earned|volume|rating|weighs|chances)"
            r"(?: (?:is|are|was|by|of|only|so far|up to now|about|=|it|another|a|some))*\s@",
            r"\b(?:gains?|gained|earn|earned|made|lost|lead|ahead|behind|up|down) (?:by |another |only )@",
            r"\b(?:both|each|two of us|together we|together) (?:\w+ )?(?:gains?|made|earn(?:ed)?|make|gets?) @",
            r"@ (?:each|a|per) round|@ to # (?:in|odds)|\b(?:since|year) @|# to @\b(?=\.|$)",
        ),
        (r"\b(?:trade|bid|ask|price|cost|cleared)s? (?:at|of|is) @",),
    ),
    _Rules(
        "others_number",
        (
            r"\byour? (?:\w+ ){0,3}?<LIMIT><25>@",
            r"\b(?:his|her|their|[bs]\d{1,2}'s) <10><LIMIT><25>@",
            r"\byou (?:\w+ ){0,2}?(?:need|break even|afford|value|earn|make|profit|drop|go)\b<30>@",
            r"\bworth<20>(?:to you<20>@|@<5> to you)|\bcosts? you<20>@|\bfor you\b<20>@",
            r"<OTHER><15>(?:value|cost|limit|afford)<20>@",
            r"\byou (?:told|promised|offered) [bs]\d<20>@",
            r"\bwith a limit of @ you\b|\byou<20>(?:claim|said)<20><LIMIT><15>@",
            r"\byou (?:will not|would not|never|can not) (?:sell|buy|pay|go|take)\b<20>@",
        ),
        (r"\b(?:i|me|my)\b<15>@", r"\bif you go under\b"),
    ),
    _Rules(
        "own_limit",
        (
            r"<LIMIT>(?:(?!\b(?:bid|ask|offer)\b)[^.?@#]){0,38}?@",
            r"@[, ]{1,2}(?:(?:is|that is|that's|and that's|as|barely|even|would|covers?) )+<15><LIMIT>",
            r"\b(?:most|least|highest|lowest|max|min|maximum|minimum|all|best)(?: (?:that|price|money))*"
            r" (?:i|we)(?: have| am| can| could| will)<25>@",
            r"@<15>\b(?:most|least|highest|lowest|maximum|minimum|all|best)\b(?: (?:that|the|money))*"
            r" (?:i|we)(?: have| can| could| get)\b",
            r"<CANNOT><35><DO><25>@|\b(?:i|we) (?:\w+ )?(?:can|could) only (?:pay|go|spend|offer) @",
            r"<CAN><10><DO><20>(?:up to|at (?:the )?(?:very )?most|max|no more than|down to|anything)<12>@",
            r"\b(?:can|could) (?:only )?(?:pay|afford|offer|go|spend|spare|do|go to|come down to)(?: to| you)?"
            r" @<15>\b(?:at (?:the )?(?:very )?most|tops|max(?:imum)?|at best|no further|spare)\b",
            r"@ (?:tops|is (?:all|where))|\bi can (?:only )?(?:spare|afford|spend) @|@ (?:at most|at best|max)\b",
            r"@<60><LOSS>|<LOSS><45>@",
            r"\b(?:i|we) (?:\w+ ){0,2}?valu(?:e|ed|ing)\b<30>@|\bvaluing\b<25>@|\bvalue (?:it|this|them|these)\b<20>@",
            r"\bworth\b<30>@|@<25>\bworth\b|\bcosts? (?:me|us)\b<25>@|\bsets? me back @|\bcharges? me\b<15>@",
            r"\b(?:client|customer|boss|buyer|supplier)s?\b<30>\b(?:me|us|releases?|charges?)\b<20>@",
            r"\b(?:i|we) (?:\w+ )?(?:produce|resell|sourced?|manufacture)\b<20>@|@ for (?:it|this|them|"
            r"this unit) myself",
            r"\bpaid @ for\b|\bbought (?:this|it) (?:at|for) @<40>\bless\b|\b(?:inputs|materials)\b<30>@",
            r"@ (?:points )?(?:to (?:spend|my name|work with)|available|in (?:the|my) (?:account|pocket)|sunk)",
            r"\b(?:available|funds|to spend|to my name|what i have|all i have)\b<20>@",
            r"\b(?:capped|limited|restricted|restricts? me|limits? me|stuck|hands are tied|end of my rope|good)"
            r"(?: (?:to|at|up to|above|below|with))* @|@<20>\bend of my rope",
            r"\b(?:room|go|stop|stops|stretch)(?: \w+)? (?:until|down to|up to|over|above|below|under|beyond|past|at) @"
            r"(?! (?:i|or|you)\b)",
            r"(?:\bprice|\banything|\bany \w+|\bdeal)<20>(?:under|below|above|over|exceeds|(?:less|"
            r"more) than) @<30><GAIN>",
            r"<GAIN><35>(?:under|below|above|over|exceeds|than|minus|less|at) @",
            r"\b(?:secret number|card says|on my card|my number|drew|dealt|assigned|given|gave me|real limit|"
            r"number i)\b"
            r"<20>@|@<15>\b(?:is the number|on my card)\b",
            r"\bneed\b<20>@<20>(?:to (?:cover|break|survive|stay|live)|minimum|or more)",
            r"\b(?:minus|less) @|@ minus the price",
        ),
        (
            r"\b(?:or nothing|get nothing|both|next round|average|equilibrium|fair|market|last (?:one|unit))\b",
            r"\byou(?:r)? (?:\w+ ){0,2}(?:<LIMIT>|bid|ask|lose|regret|get|keep)",
            r"\b(?:cap|floor|limit) (?:and|or)\b|\bbreak the\b|\bi (?:expect|think|guess|predict)\b|\bno (?:deal|"
            r"trade)\b",
            r"<OTHER><25>@|\bnot interested\b",
        ),
    ),
    _Rules(
        "past_fact",
        (
            r"\b(?:last|previous|prior|earlier) (?:round|time|game|trade|deal|one|unit|bid|ask|quote|week|night)s?\b",
            r"\b(?:first|second|only|single) (?:round|trade|deal|unit|one)\b|\bfirst\.",
            r"\b(?:yesterday|ago|so far|earlier|previously|at the start|since|already twice|(?:in )?the beginning|"
            r"the (?:round|day|deal|one) before|before(?: that)?(?=[.,]|$))\b",
            r"\b(?:was|were(?! (?:you|it|i) (?:to|a))|traded|cleared|sold|bought|accepted|rejected|turned down|offered|"
            r"opened|started|ended|went|kept|(?<!have )got|took|agreed|dropped|moved|missed|saw|seen|filled|met|"
            r"used to|"
            r"undercut (?:me|my)|undercut with|outbid (?:me|my|at)|changed hands|paid|said|told me|asked|wanted|spent|"
            r"came(?! down)|ranged|happened|demanded|charged|split at|had|went|earned|lost)\b",
            r"\b(?:has|have|had) been\b|\b(?:never|ever) (?:sold|paid|bought)\b|\bdid(?: you| i)? not\b",
            r"\bround #(?!.{0,30}\b(?:will|coming)\b)",
            r"\b(?:thanks|thank you|nice|great|good) (?:\w+ ){0,2}?(?:for|trade|deal|business|buying)\b<25>@",
            r"\bremember\b<15>@|\b(?:result|outcome|record|history|highest|lowest)\b<25>@",
        ),
        (r"<SOON>", r"\b(?:heard|they say|why (?:do|did) you|by round|for round|i promise|last price)\b"),
    ),
    _Rules(
        "expectation",
        (
            r"<MIND>",
            r"<MARKET> (?:will|would|should|could|might|'ll|is going to|are going to) (?:\w+ ){0,5}?<20>@",
            r"\b(?:somewhere )?between (?:@ and #|# and @)|@,? give or take|\bin the (?:region|area) of @",
            r"\b(?:next price|market price|clearing price|price level)\b<30>@",
            r"\bwe (?:will )?(?:probably )?(?:see|end|land)\b<20>@|\bwould (?:then )?be @",
        ),
        (
            r"\b(?:or i|or else|unless)\b<15>@",
            r"\byou (?:ask|bid)\b|\bmy (?:bid|ask)\b|\bif you\b|\bor i\b|\bi (?:will|am) (?:bid|ask|pay|sell)|"
            r"\bplease\b",
            r"<QUIT>",
        ),
    ),
    _Rules(
        "threat",
        (
            r"<QUIT>",
            r"\b(?:otherwise|or else|else)\b<40>@",
            r"\bif (?:you|i|it|we|\w+) (?:do|does|will|is|are) not\b<30>@",
            r"\b(?:refuse|do not take) @|\b(?:refuse|do not take) #<40>@",
            r"\b(?:every|each) (?:time|round) you\b<30>@",
            r"\b(?:had|would) better\b<25>@",
        ),
        (r"\btake it or leave it\b",),
    ),
    _Rules(
        "others_number",
        (
            r"<IF>(?:(?!\b(?:i|we|me)\b)[^,.?@]){0,40}?\b(?:you|your|ask|bid|it's|under|over|below|above)\b"
            r"(?:(?!\b(?:i|we)\b)[^,.?@]){0,25}?@",
            r"(?:^|[.,=] ?)(?:and |so |first |please )?<GIVE>(?:(?!\bmy\b)[^,.?@]){0,30}?@[^.?@]{0,30}?"
            r"\b(?:and|in return|then)\b",
            r"(?:^|[.,=] ?)(?:first )?you (?:\w+ )?(?:ask|bid|go|do|drop|come|post)\b<15>@<5>[,.]? ?(?:and |"
            r"then )?\bi\b",
            r"\bwould you (?:ask|bid) @ if i\b|\bwill you (?:ask|bid) @|\b(?:for|against) (?:an? (?:ask|bid) of|"
            r"your) @",
            r"\bif @ is\b|\bi see @ from you",
        ),
    ),
    _Rules(
        "conditional_offer",
        (
            r"<IF><90>@|@<90><IF>",
            r"(?:^|[.,=] ?)<GIVE><60>\b(?:and|in return|then)\b<45>@",
            r"\b(?:then|in that case|otherwise) (?:i|my|we)\b<30>@|\byou (?:ask|bid|go|do|drop)\b<25>\bi\b<15>@",
            r"\b(?:match|meet) (?:me|my)\b<15>@|\bi (?:reciprocate)\b<15>@|\bfor (?:a|an|two|#|regular)\b<40>@",
        ),
    ),
    _Rules(
        "others_number",
        (
            r"\b(?:please|can you|could you|would you|will you|are you|do you|why)\b<40>@",
            r"\byou (?:should|ought|need|want|have|could|might)(?: to)?\b<30>@",
            r"(?:^|[.,] )(?:so |then |now |just )?(?:<THEIRS>|lower|raise|come (?:down|up)|drop|make it|show me|"
            r"give me|"
            r"let me have|match|meet me)<25>@",
            r"\byou(?: are)?(?: \w+){0,2}? (?:ask|bid|offer|want|quot|pay|sell|charg|demand|tak)\w*\b<25>@",
            r"\byour? (?:\w+ ){0,2}?(?:ask|bid|offer|price|quote)\b<30>@|\byour @",
            r"<OTHER><15>\b(?:bid|ask|offer|want|take|pay|accept|sell|let|go|is|are|would|at)(?:s|ing)?\b<25>@",
            r"\b(?:from|of) <OTHER><25>@|@ (?:of|from) <OTHER>|<OTHER> @",
            r"\b(?:what if|how about|what about) you\b<25>@|\bis @ (?:possible|ok|okay|fine|acceptable)\b",
            r"@ (?:from you|on your|from your)|\bi (?:want|need)(?: you to)?(?: \w+)? @",
        ),
    ),
    _Rules(
        "firm_quote",
        (
            r"\b(?:i|we)\b<30>(?:<OWN>|\b(?:offer|quote|submit|place|post|set|put|hold|stick|keep|stay|commit|promise|"
            r"guarantee|take|give|do|accept|settle|start|open|repeat|meet you|go)\b|\w+ing\b|ed\b)<25>@",
            r"(?:^|[.,=] )(?:\w+ing|submitted|accepted|firm|same|updated|new|final|last|best|guaranteed|ready|happy|"
            r"yours|deal|ask|bid|quote|down|up|once more|exactly)\b<35>@",
            r"\b(?:my|the|final|last|best|opening) (?:\w+ ){0,3}?(?:bid|ask|offer|price|quote|word)\b<25>@",
            r"@<20>\b(?:take it or leave it|firm|final|is my|is the best|will be my|and not a|from me|it is|sharp|"
            r"flat)\b",
            r"\bnothing (?:under|below|over|above) @|\byou (?:can have it|get)\b<10>@|\bcount on\b<25>@",
            r"\bi am (?:still )?at @|\b(?:i|we) (?:will )?(?:not|refuse)\b<30>@|\byours for @",
        ),
        (r"<MIND>",),
    ),
)

_NUMBER = re.compile(r"(?<![\w.])[+-]?\d{1,6}(?:\.\d{1,4})?(?!\d)(?!\.\d)")
_REACH = 110
"""Characters on either side that can decide what a number is; more would make long messages quadratic."""


class _Compiled(NamedTuple):
    claim: Claim
    found: re.Pattern[str]
    spared: re.Pattern[str] | None


@cache
def _rules(role: Role) -> tuple[_Compiled, ...]:
    own, theirs = ("bid|buy|pay", "ask|sell|charge") if role == "buyer" else ("ask|sell|charge", "bid|buy|pay")
    words = _WORDS | {"OWN": rf"\b(?:{own})\b", "THEIRS": rf"\b(?:{theirs})\b"}

    def compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
        named = re.sub(r"<([A-Z]+)>", lambda name: words[name[1]], "|".join(patterns))
        return re.compile(re.sub(r"<(\d+)>", r"[^.?@]{0,\1}?", named))

    return tuple(
        _Compiled(rules.claim, compiled(rules.found), compiled(rules.spared) if rules.spared else None)
        for rules in _RULES
    )


def claims(text: str, role: Role, limit: float) -> list[Claimed]:
    """The numbers of a message of a seat with the private number `limit`, in the order of the text.

    Total: no text raises. A limit that is none of the seat's is a false one.
    """
    return [Claimed(value, _claim(words, role, value, limit), words) for value, words in _in_context(text)]


def unread_numbers(text: str, limit: float, role: Role, near: float = 2.0) -> list[Claimed]:
    """The numbers within `near` of the sender's private one that no rule could place."""
    return [said for said in claims(text, role, limit) if said.claim == "unknown" and abs(said.value - limit) <= near]


def _in_context(text: str) -> Iterator[tuple[float, str]]:
    """Each number with the words around it, in which it is "@" and other numbers are "#"."""
    # Number words first: a dash within them is no end of a clause.
    plain = normalised(with_digits(unicodedata.normalize("NFKC", text).lower()))
    plain = re.sub(r"[!;\n]|\.(?!\d)", ".", plain.replace("$", "").replace("~", " to "))
    for number in _NUMBER.finditer(plain):
        left = _NUMBER.sub("#", plain[max(0, number.start() - _REACH) : number.start()])
        right = _NUMBER.sub("#", plain[number.end() : number.end() + _REACH])
        yield float(number[0]), f"{left}@{right}"


def _claim(words: str, role: Role, value: float, limit: float) -> Claim:
    for rule in _rules(role):
        if rule.found.search(words) and not (rule.spared and rule.spared.search(words)):
            if rule.claim == "own_limit" and abs(value - limit) >= 1:
                return "false_limit"
            return rule.claim
    return "unknown"
