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
    r"somebody(?: else)?|(?:all the )?others|(?:my )?competitors?|the competition|rivals?(?:')?s?|he|she|they|his|"
    r"her|their|(?:the|some|my) (?:buyer|seller|customer|rival|opponent|neighbou?r|counterpart|guy)s)\b",
    "LIMIT": r"\b(?:valuations?|values?|costs?|limits?|max|min|maximum|minimum|budget|(?<!confirm )cap(?! bids?|"
    r" asks?| the)|ceiling|(?<!good )(?<!strong )(?<!price )floor|threshold|reserv(?:e|ation)|"
    r"break[- ]?even|rock bottom|wtp|walk[- ]?away (?:point|price)|bottom line|willingness to pay|mandate|"
    r"overhead|expenses|outlays?|(?:upper|lower) bound|reserves|purchase price|utmost|red line|appraisal|allowance|"
    r"spending power|own price|zero point|kitty|no.go (?:line|zone)|line in the sand|investment|pain point|materials|"
    r"limitation)\b",
    "CAN": r"\b(?:can|could|able to|may)\b",
    "CANNOT": r"\b(?:can not|could not|unable to|impossible|not able to|no way|under no circumstances|not allowed|"
    r"not authori[sz]ed|must not|may not|not permitted|never to|forbidden|not in a position|no room|cannot)\b",
    "DO": r"\b(?:go|pay|sell|selling|buy|accept|afford|budge|stretch|do|offer|take|spend|bid|ask|come|drop|move|"
    r"let|part|exceed|surpass|justify|settle|close|get|give|trade|manage|raise|lower|descend|climb|agree)\b",
    "BEYOND": r"\b(?:beneath|exceeding|above|over|below|under|beyond|past|(?:north|south) of|(?:more|less|lower|"
    r"higher|better|"
    r"worse) than)\b",
    "LOSS": r"(?:\b(?:los(?:e|es|ing) (?:\w+ )?(?:money|points)|lose on|take a loss|loss|in the red|break(?:s|"
    r"ing)? even|(?:zero|no) (?:profit|surplus|gain|margin)|(?:profit|margin|surplus|"
    r"gain)s?(?: \w+){0,2} zero|(?:make|makes|making|earns?|gains?|wins?|get) (?:absolutely )?(?:nothing|"
    r"zero|no)(?! from me)|nothing in it|no (?:use|point|sense)|pointless|exactly where i|(?:stay|"
    r"just) even|money lost|a cent|(?:money|cash) away|worse off|out of the money|recoup|nothing left|"
    r"(?:with|me) (?:exactly )?(?:nothing|zero)|bankrupts?|ruins?|indifferent|indifference|it hurts|"
    r"out of (?:my |our )?pocket|in business|afloat|survive|viable|(?:re)?cover(?:s|ing)?|nil|broke|go bust|"
    r"(?:make )?ends meet|taking a (?:hit|loss)|not to lose|bleed\w*|"
    r"under ?water|even(?: out)? (?:out|on this)|come out even|nothing (?:out|to gain)|(?:i|we) (?:will |would )?lose|"
    r"losing|overpay\w*|(?:stops|no longer) mak(?:es|ing) sense|not (?:make sense|gain\w*)|my bills|"
    r"no upside|with (?:exactly )?zero|(?:is|am|are) empty|(?:not|never) (?:earn|make|gain|"
    r"profit) (?:an? )?(?:single )?"
    r"(?:any(?:thing)?|points?|penny|cent|money|profit)|feed my|the lights|paying you to|giv(?:e|ing) (?:it|"
    r"money) away|charity|deficit|in the hole|negative|"
    r"(?:make|makes|making|earns?|gains?|leaves? me|left) (?:with )?(?:exactly|precisely|just) (?:nothing|zero)|"
    r"barely pays?|(?:wipes?|eats?) (?:out|up) my)\b)",
    "GAIN": r"\b(?:profit(?:s|able)?|gains?|earn(?:s|ing)?|makes? (?:anything|money|me money))\b",
    "IF": r"\b(?:if|when(?:ever)?|once|provid(?:ed|ing)|unless|(?:as|so) long as|assuming|suppos(?:e|ing)|"
    r"should (?:you|the|your)|as soon as|were (?:you|it|i|we|the|there|this)|understanding|only for|"
    r"but only|in (?:return|exchange)|on (?:the |one )?condition|subject to|contingent|in case|given|"
    r"in the event|depending on|the (?:moment|minute|second|instant)|after you|after your|until you)\b",
    "GIVE": r"\b(?:lower|raise|drop|come|bid|ask|meet|match|keep|agree|go|give|let|show|post|get|accept|say|"
    r"confirm|buy|cooperate|shake|move|sell|tell|promise|commit|take|hold|stop|sign|close|trade|cut|increase|settle)\b",
    "DOING": r"\b(?:plac|post|hold|stick|bidd|ask|buy|sell|quot|offer|sett|lower|rais|keep|putt|go|start|stay|"
    r"stand|mov|pay|submitt|committ|repeat|settl|open|increas|drop|charg|propos)ing\b",
    "SOON": r"\b(?:will|would|next|if|might|could|going to|commit|promise|suggests?|when you|unless|expect|"
    r"predict|perhaps|coming|(?:as|so) long as|provid(?:ed|ing)|assuming|suppos(?:e|ing)|should|were (?:you|i|it|this)|"
    r"condition|in (?:return|exchange|case)|contingent|let me)\b",
    "MIND": r"\b(?:expect(?:s|ing|ed)?|think|guess|probably|likely|forecast|predict(?:ion)?|estimat(?:e|es|ing)|"
    r"reckon|suspect|imagine|anticipate|(?:i|we) assume|i am assuming|figure|would say|fairly sure|"
    r"shock(?:ed|s)?|believe|hop(?:e|ing)|aim(?:ing)?|targets?|surpris(?:ed?|ing)|bet|doubt|hunch|"
    r"see (?:us|it|this|prices?) (?:end|go|clos|settl|trad|fall|ris)\w*|feeling|perhaps|maybe|might be|"
    r"might well|surely|realistic(?:ally)?|ballpark|in (?:my|our) (?:view|opinion)|trend|equilibrium|"
    r"going rate|average|midpoint|history suggests|past rounds suggest|sooner or later|long (?:run|term)|"
    r"bound to|turns? out|count on (?:the|a) (?:market|price)|odds are|fair chance|converg(?:e|ing)|"
    r"head(?:ed|ing) (?:to|towards|for)|counting on|my sense|general view|consensus|seems? (?:reasonable|"
    r"realistic|likely)|sounds (?:like|realistic|about right)|looks? like|would be normal|normal price|"
    r"should be (?:possible|doable|normal|around|about|in)|would be (?:fair|normal)|fair (?:price|outcome|"
    r"value|split)|even split|splitting|split evenly|calculations?|(?:my|the) model|could (?:reach|get|"
    r"climb|fall|rise)|project(?:ion|ed|ing)?|impression|wish|would (?:love|like to see)|ideal(?:ly)?|hopefully|"
    r"typical(?:ly)?|usually|normally|generally|tends? to|hover\w*|settle (?:around|near|somewhere)|sensible|"
    r"in theory|theoretical(?:ly)?|likeliest|most likely|in mind|roughly|(?:leads?|points?) to(?:wards)?|"
    r"seems (?:like|to be)|appears?|looking at|shared equally|somewhere|competitive price|"
    r"(?:should|ought to) (?:land|settle|end|clear|trade|go)|anticipat\w+|presum\w+|is coming|i feel|supply (?:meets|"
    r"and demand)|delighted|strikes me|end up paying|competitive|would be (?:an? )?(?:\w+ )?(?:compromise|outcome|"
    r"solution|result)|(?:happy|pleased|like|nice|good) to see|"
    r"dream\w*|"
    r"where (?:this|it|we) (?:ends?|lands?|settles?)|"
    r"(?:would not|would) @ be)\b",
    "MARKET": r"\b(?:it|trade|deal|demand|things|price|prices|we|market|this|that|next one|average|round|rounds)\b",
    "OVER": r"\b(?:north of|above|over|beyond|past|(?:more|higher|greater) than)\b",
    "UNDER": r"\b(?:(?:south|short|shy) of|below|under|beneath|(?:less|lower|worse) than)\b",
    "QUIT": r"(?:\b(?:i(?: will| would)? (?:walk|leave|quit)|walk(?:ing)? away(?! p)|walk out|i am leaving|(?:and|"
    r"then|or) leav(?:e(?! it)|ing)|leave over|i am (?:out|gone|off|done)|(?:we are|be) (?:done|finished)|"
    r"it's over|over between|then it's over|goodbye|or nothing|no deal|(?<!avoid )no trade|deal(?:'s|"
    r" is) off|reject(?:ed)?|refus(?:e|ed|ing)(?! to sell)|ignored?|elsewhere|punish|retaliat\w+|boycott|"
    r"no business|strike|regret|quit|last chance|(?:final|last) warning|ultimatum|warn(?:ed|ing)?|"
    r"stay away|withdrawn?|expires|dies|(?:price|bidding) war|(?:undercut|outbid) (?:you|everybody|"
    r"everyone)|flood|crash|i (?:will )?block|will be blocked|cut(?: you)? off|never (?:again|trade|sell|"
    r"buy)|your loss|(?:rather|sooner) (?:not|keep|burn|throw|skip|go without)|both(?: of us)? (?:(?:get|"
    r"earn|go|end|make)(?: \w+){0,2} (?:nothing|zero|empty|home)|lose)|(?:(?<!\bi )(?<!\bwe )get|"
    r"(?<!me )(?<!us )with) nothing|skip(?:ping)?|"
    r"sit(?:ting)? out|hold(?:ing)? out|wait (?:you out|all)|pull(?:ing)? out|freeze|consequences|test me|"
    r"no mercy|talking stops|stop (?:trading|buying|selling|bidding|asking|talking)|lose (?:me|"
    r"this customer|the (?:sale|trade|deal))|ends (?:it|this|here)|ends? the talks|end it|(?:asks?|bids?|"
    r"prices?) over @ end this|find (?:another|someone)|to another|no sale|not (?:one|a) sale|(?:buy|"
    r"sell) elsewhere|i buy from|i sell to|the door|no (?:further |more )?concessions?|tell (?:every\w*|"
    r"all)|not interested|not (?:show up|take part|bother)|take my \w+ (?:home|to)|cut you|time runs out|"
    r"drops? to zero|(?<!your )next (?:bid|ask) is|or i(?! (?:will |would )?(?:make|earn|lose|get)\b)|or else|"
    r"that's it|see what happens|other options|forget (?:it|about it|this)|last (?:talk|try|call)|final call|or bust|"
    r"(?:ready|prepared|about|going|willing|inclined) to (?:walk|leave|quit|stop)|make me (?:walk|leave|quit|go)|"
    r"no more (?:deals|trades|cooperation|business|offers)|(?:my )?patience (?:ends|is)|let "
    r"(?:the|this) (?:round|clock)|pass (?:every|the|this)|sit (?:this|it)|(?:leave|go|finish|end)(?: up)? (?:home )?"
    r"with (?:nothing|zero)|business elsewhere|stop (?:negotiat|reply|respond|answer|listen|play|deal|cooperat)ing|"
    r"hear from me|stuck with|neither of us|(?:clock|"
    r"time) run|expire|so (?:generous|nice|patient)|change my mind|highway|with (?:someone|somebody) else|(?:i|"
    r"we) (?:am|are|will be) (?:through|leaving)|off the table|empty.handed|both (?:lose|finish)|blacklist\w*|(?:i am|"
    r"start) walking|not be back|"
    r"not come back|close the shop|move on|(?<!where )(?:trade|cooperation|talk|deal|this|patience|"
    r"conversation)(?:s)? (?:ends|is over|stops)|for good(?=[.,]|$)|hang up|call it off|be sorry|"
    r"turn away|someone else's|insist on @)\b)",
    # After a number no things counted: verbs, money, and words that only look like a plural.
    "UNCOUNTED": r"(?!(?:points|upwards|downwards|ticks|dollars|bucks|euros|pounds|cents|coins|credits|is|was|as|has|"
    r"does|this|always|less|plus|minus|unless|perhaps|works?|seems|sounds|leaves|gives|gets|stands|"
    r"expires|dies|loses|sits|looks|costs|makes|means|covers|holds|ends|hurts|yields|across|yes|thanks|"
    r"versus|comes|goes|stays|continues|keeps|risks|remains|provides|ensures|helps|allows|benefits|"
    r"secures|brings|reflects|creates|reaches|fits|suits|takes|wins|ruins|its|his|yours|tops|myself|us)\b)",
}

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
            r"@\s?(?:%|percent\b|per ?cent\b|ms\b|cm\b|km\b|kg\b|degrees\b|past the hour|people\b|o'clock)",
            r"@\s(?:(?:more|other|straight|good|long|full|whole|remaining|last|of your|"
            r"of my)\s)?<UNCOUNTED>[a-z]{3,}(?<!s)s\b(?! (?:me|us|my|our|it|him|them|the|an?|no|nothing|too)\b)",
            r"\b(?:rounds?|page|number|route|bus|flight|section|rule|id|order|ticket|game|figure|line|entry|seed|"
            r"channel|room|table|paragraph|chapter|step|message|version|week|highway|"
            r"apartment)(?: number)?(?: # (?:to|and|or))?\s@",
            r"@\+? (?:point )?(?:loss|profit|surplus|gain|margin)\b(?! each)|\b(?:total|net) (?:loss|profit|"
            r"gain)(?: (?:of|is|=))? @",
            r"@ (?:out )?of (?:a )?#|# (?:out )?of (?:a )?@|\bout of @",
            r"@ (?:points?|ticks?) (?:apart|behind|ahead|each|in total|so far|a round|per round|of profit|large|"
            r"more|with|to (?:share|divide|split|go)|on the table|for|together|then|than)\b",
            r"\b(?:apart|differ|gap|spread|conced\w+|steps? of|lead|leads|behind|ahead|bonus|penalty|fine|fee|tax|"
            r"pie|surplus|score|my profit|joint profit|payoff|gained|earned|volume|rating|weighs|"
            r"chances)(?: (?:is|are|was|by|of|only|so far|up to now|about|=|it|another|a|some))*\s@",
            r"\b(?:gains?|gained|earn|earned|make|made|lost|lead) (?:(?:by|another|only|just|about) )?@|\b(?:up|"
            r"down|rose|fell|moved?) by @|\bmatch @ is|\bspeed limit\b<10>@",
            r"\b(?:both|each|two of us|together we|together) (?:\w+ )?(?:gains?|made|earn(?:ed)?|make|gets?) @",
            r"(?<!ised )(?<!cked )(?<!ded )\bby (?:another |just |only |about |a further |some |at least )*@|"
            r"\bgive or take @|\b(?:difference|discount|rebate|"
            r"distance|profits?|margins?|earnings|savings?|payoff|surplus|gains?|bonus|concession|percentage|"
            r"inventory|stock|"
            r"deck|balance|tally|count)(?: (?:is|are|was|of|by|about|only|some|now|stands at|would be|will be|to|"
            r"becomes|so far|shrunk to))* @(?! is\b)|"
            r"\b(?:add|subtract|shave|knock|count to|agent|trader|player|bot|session|day|hour|minute|level|item|"
            r"phase|stage|question|rank(?:ed)?|turn|"
            r"aged?)(?: (?:number|another|a further|off|me|is))* @|@ (?:s|secs?|seconds?|minutes?|hours?|days?|weeks?|"
            r"months?|years?|basis points|cents (?:is|of)|bps|turns?|left|remaining|remain|to go)\b|\bsaves? (?:you|"
            r"me|us|both) @|@ (?:apart|ahead|behind|short)\b|@ of (?:them|us|the|those|"
            r"these|all)\b|\b(?:gap|lead|score|difference)\b<35>\b(?:to|is|at|of|now) @|"
            r"\b(?:points?|rounds?|step|stage|meet(?:ing)?) number @|"
            r"@ (?:each|a|per) round|@ (?:left|remaining)\b|\b(?:score|lead|chances|odds|it) (?:is|are) (?:@ to #|"
            r"# to @)|@ to # odds|\b(?:since|year) @",
        ),
        (r"\b(?:trade|bid|ask|price|cost|cleared)s? (?:at|of|is) @",),
    ),
    _Rules(
        "others_number",
        (
            r"\byour? (?:(?!my\b|our\b|i\b)\w+ ){0,3}?<LIMIT>(?:(?!\b(?:my|our|i)\b)[^,.?@#]){0,25}@",
            r"\b(?:his|her|their|[bs]\d{1,2}'s) <10><LIMIT><25>@",
            r"\byou (?:(?!i\b)\w+ ){0,2}?(?:need|break even|afford|value|earn|make|profit)\b(?:(?!\b(?:i|we|"
            r"my)\b)[^,.?@]){0,30}?@|\byou (?:can|could|may|might)(?! have (?:it|my|this|one)| count| get|"
            r" <THEIRACT>)\b(?:(?!\b(?:i|"
            r"we|my)\b)[^,.?@]){0,35}?@",
            r"\bworth<20>(?:to you<20>@|@<5> to you)|\bcosts? you<20>@|\bfor you\b(?:(?!\b(?:i|we|"
            r"my)\b)[^,.?@]){0,35}?@",
            r"(?<!my )(?<!our )(?<!a )(?<!this )(?<!fair )(?<!market )\b(?:<THEIRNOUN>)(?: (?:is|of|at|=|around|"
            r"about))* @",
            r"<OTHER><15>(?:value|cost|limit|afford)<20>@|\b(?:can|could|would|will) you(?: (?!i\b|"
            r"if\b)[\w\']+){0,6} @",
            r"\byou (?:\w+ )?have @ to spend|\byou are (?:still |sitting |stuck )*at @|\byou (?:told|promised|"
            r"offered) [bs]\d<20>@",
            r"@<20>\byour (?:\w+ )?<LIMIT>|\bwith a limit of @ you\b|\byou<20>(?:claim|said)<20><LIMIT><15>@",
            r"\byou (?:will not|would not|never|can not) (?:sell|buy|pay|go|take)\b<20>@",
        ),
        (r"\b(?:i|me|my)\b<15>@", r"\bif you go under\b"),
    ),
    _Rules(
        "own_limit",
        (
            r"<LIMIT>(?:(?!\b(?:bid|ask|offer|meet|could|willing|quot)\w*)[^.?@#]){0,38}?@(?! (?:bids?|asks?)\b)",
            r"@[, ]{1,2}(?:(?:is|that is|that's|and that's|as|barely|even|would|covers?) )+(?:(?!\b(?:below|above|"
            r"under|over|close|near)\b)[^.?@]){0,18}?<LIMIT>",
            r"\b(?:most|least|highest|lowest|max|min|maximum|minimum|all|best)(?: (?:that|price|money|figure|"
            r"number|amount|sum))* (?:i|we)(?: have| am| can| could| will| may| might| would)<40>@",
            r"@<15>\b(?:most|least|highest|lowest|maximum|minimum|all|best)\b(?: (?:that|the|money))* (?:i|"
            r"we)(?: have| can| could| get)\b",
            r"<CANNOT><35><DO><15><BEYOND><10>@|<CANNOT> (?:afford|go (?:up|down)) <10>@|\b(?:i|"
            r"we) (?:\w+ )?(?:can|could) only (?:pay|go|spend|offer) @",
            r"<CAN><10>\b(?:pay|afford|spend|stretch|offer|live with|sell|buy)\b<20>(?:up to|"
            r"at (?:the )?(?:very )?most|max|no more than|no less than|anything)<12>@|<CAN><10>(?:go|come|move|"
            r"drop) (?:up |down )?to @<40>\b(?:most|cost|value|limit|zero|nothing|no (?:further|lower|higher|"
            r"more)|before)\b",
            r"\b(?:can|could) (?:only )?(?:pay|afford|offer|go|spend|spare|do|go to|come down to)(?: to|"
            r" you)? @<15>\b(?:at (?:the )?(?:very )?most|tops|max(?:imum)?|at best|no further|spare)\b",
            r"@ (?:tops|is (?:all|where (?:i|it|we|my|the deal)\b))|\bi can (?:only )?(?:spare|afford|spend) @|"
            r"@ (?:at most|at best|max)\b",
            r"@[^.?@#,]{0,45}?<LOSS>|<LOSS>(?:(?!\b(?:bid|ask|offer|meet|could|willing|quot)\w*)[^.?@#]){0,45}?@",
            r"\b(?:i|we) (?:\w+ ){0,2}?valu(?:e|ed|ing)\b[^.?@#]{0,30}@|\bvaluing\b[^.?@#]{0,25}@|\bvalue (?:it|"
            r"this|them|these)\b<20>@",
            r"\bworth\b[^.,?@#]{0,25}@|@<25>\bworth\b|\bcosts? (?:me|us)\b<25>@|\b(?:sets? me back|(?:run|"
            r"stand)s? me) @|\bhave to pay @ (?:for|myself)|\b(?:took|takes) (?:me )?@ to (?:make|produce|get|"
            r"build|buy)|@<10>(?:top|bottom|end) of my\b|\b(?:purse|wallet|pocket|account) (?:holds|has|"
            r"contains) @|\b(?:do not|only|just) have\b<12>@|\bcharges? me\b<15>@",
            r"\b(?:brings?|earns?|yields?|nets?) (?:me|us|in)(?: only| just| about)? @|\b(?:makes sense|"
            r"is possible|is affordable|works) for (?:me|us) (?:is|=) @",
            r"\bif i (?:pay|sell|buy)\b<15>@<20>\bi (?:gain|earn|lose|make)\b",
            r"\b(?:client|customer|boss|buyer|supplier)s?\b<30>\b(?:me|us|releases?|charges?)\b<20>@",
            r"\b(?:i|we) (?:\w+ )?(?:produce|resell|sourced?|manufacture)\b<20>@|@ for (?:it|this|them|"
            r"this unit) myself",
            r"\bpaid @ for\b|\bbought (?:this|it) (?:at|for) @<40>\bless\b|\b(?:inputs|materials)\b<30>@",
            r"@<5>in (?:my|our|the) (?:pocket|wallet|purse|bank)|@ (?:points )?(?:to (?:spend|my name|work with)|"
            r"available(?! at| for)|in (?:the|my) (?:account|pocket)|sunk)",
            r"\b(?:available funds|funds|to spend|to my name|what i have|all i have)\b<20>@",
            r"\b(?:(?<!buyers )(?<!sellers )(?<!bids )(?<!asks )capp?(?:ed|s)(?: me| us)?|limited|restricted|"
            r"restricts? me|limits? me|i am stuck|hands are tied|end of my rope|good up)(?: (?:to|at|up to|above|"
            r"below|with))* @|@<20>\bend of my rope",
            r"\b(?:room|stop|stops|stretch)(?: \w+){0,2} (?:until|down to|up to|over|above|below|under|beyond|"
            r"past|at) @(?! (?:i|or|you)\b)",
            r"(?:\bprice|\banything|\bany \w+|\bdeal)<20>(?:under|below|above|over|exceeds|(?:less|"
            r"more) than) @<30><GAIN>",
            r"(?:under|over|above|below) @<40><GAIN>|\bup to @ (?:works|is (?:fine|ok))|\banything (?:up to|from|"
            r"down to) @|<LIMIT>[^.?@#]{0,12}\? @|(?:<LIMIT>|secret number)<35>(?:\. (?:it is|it's)|=) @|"
            r"\bwhat (?:i can|it) (?:afford|costs me) = @|\bget (?:only )?@ (?:for|out of) it|"
            r"\bget out of it\b<10>@|\b(?:have|need) to clear @|\bget @ out of|<GAIN><35>(?:under|below|above|"
            r"over|exceeds|than|minus|less) @",
            r"\b(?:secret number|card says|on my card|my number(?! for)|drew|dealt|assigned|given (?:a|me|to me|"
            r"as)|gave me|real limit|number i)\b<20>@|@<15>\b(?:is the number|on my card)\b",
            r"\bneed\b<20>@<20>(?:to (?:cover|break|survive|stay|live)|minimum|or more)",
            r"\b(?:minus|less) @|@ minus the price",
            # What others allow a seat, how far it can go, and what it has: beside the nouns above.
            r"\b(?:i|we|me|us|my|our)\b<30>\b(?:told|allowed|authori[sz]ed|permitted|instructed|approved|sign(?:ed|"
            r"s) off|"
            r"mandated|entitled)\b(?! you)<35>@|@<25>\b(?:i|we) (?:have been|was|were|am|are) (?:given|allowed|"
            r"authori[sz]ed|"
            r"allotted|permitted|granted)\b",
            r"\b(?:board|boss|client|principal|company|management|bank|firm|employer|owner|partners?|superiors?)\b<20>"
            r"\b(?:approved?|allow\w*|agreed to|permits?|gave|gives|lets|released?|authori[sz]e[ds]|insists)\b<15>@|"
            r"\b(?:top|bottom|end|edge|limits?) of (?:my|our) \w+<10>@|@<5>\b(?:i|we) (?:am|are) (?:tapped|maxed|"
            r"stretched|"
            r"out of (?:money|cash|funds))\b|\byields? @ (?:for|to) (?:me|us)\b|@<15>\b(?:cheapest|furthest|farthest|"
            r"deepest|dearest|smallest|biggest|largest)\b<15>\b(?:i|we) (?:can|could|am|have|may)\b|"
            r"\b(?:most expensive|"
            r"cheapest|furthest|farthest|deepest|dearest|smallest|biggest|largest)\b<15>\b(?:i|we) (?:can|could|"
            r"may)\b<15>@",
            r"\b(?:i|we)\b<25>\bas (?:far|high|low|much|little) (?:up |down )?(?:as|to) @|@ is (?:just )?as (?:far|"
            r"high|low|"
            r"much|little) as (?:i|we|it|my)\b|@<20>\bis (?:as far|every(?: (?:cent|penny|point|bit)|thing))\b",
            r"\b(?:i|we) (?:only |just )?(?:have|got|hold)(?: got)?(?: only| just| exactly| about)? @ (?:points |"
            r"ticks |"
            r"dollars )?(?:to (?:spend|work|play|invest)|in (?:my|our|the)|and that|total|available)\b",
            r"\bthe @ (?:that )?(?:i|we) (?:have|can|could|got|paid|am|was|were)\b|@ =,? (?:my|our) (?:\w+ )?<LIMIT>",
            r"(?<!at )\b(?:most|least|highest|lowest|best)\b[^.?@#]{0,25}?\b(?:brings?|earns?|yields?|gives?|nets?|"
            r"works?|permitted|allowed|"
            r"authori[sz]ed|can|able)\b<35>@|@<20>\b(?:most|least|highest|lowest)\b<15>\b(?:i|we)\b",
            r"\b(?:maxed|tapped|topp?(?:ed|s)|stretched|limited|runs?|maxes|bottom(?:s|ed))(?: out)?(?: at| me| us)? @|"
            r"\b(?:takes?|took) @<10>\b(?:out of|from) (?:my|our)\b|\bset(?:s)? (?:me|us) back<15>@",
            r"\b(?:need|require|must (?:get|have|see))\b<25>@<20>\b(?:to (?:cover|come|recoup|recover|pay|avoid|stay|"
            r"not lose)|merely|just to|only to)\b|<PAID>|\bsunk @|\binvoices?\b<30>@|\bexceeds? (?:my|our) @|"
            r"\bi have @ (?:only|in total)\b|"
            r"<BEYOND> @<15>\b(?:affordable|feasible|workable|viable) for (?:me|us)\b|@ before (?:any |a |i (?:see|"
            r"make) (?:any |a )?)?(?:profit|margin|gain|penny|cent)",
        ),
        (
            r"\b(?:or nothing|(?<!\bi )get nothing|last (?:one|unit|round|trade))\b|\b(?:let us|suggest\w*|"
            r"coordinat\w*|"
            r"undercutting|please|maintain|target\w*|prefer)\b(?:(?!\b(?:my|our)\b)[^.?@]){0,70}@|"
            r"\b(?:to )?avoid\b|\bcover your\b|\b(?:better|fair|see|expected|recovery|good) value\b|@ (?:ask|"
            r"bid)s?\b|\b(?:average|equilibrium|fair|market|next round)\b<30>@",
            r"\byou (?:\w+ )?have\b[^,.?@#]{0,20}@|\byou (?:asked|offered|wanted|quoted|refused|"
            r"rejected)\b(?! what)[^,.?@#]{0,20}@|"
            r"\byour (?:\w+ ){0,2}(?:<LIMIT>|bid|ask)\b(?:(?!\bmy\b)[^.?@]){0,40}@|\byou (?:\w+ )?(?:lose|regret|"
            r"get|keep)\b(?:(?!\bmy\b)[^.?@]){0,40}@|\bused to|\bbeen stuck|\bif you can not|\b(?:sellers?|"
            r"buyers?)(?:'|'s| [bs]\d)? (?:and [bs]\d )?(?:\w+ )?<LIMIT>|<QUIT>",
            r"\b(?:cap|floor|limit) (?:and|or)\b|\bbreak the\b|\bi (?:do not )?(?:expect|think|guess|predict)\b|"
            r"\bno (?:deal|trade)\b",
            r"<OTHER>(?! charges| gives| pays| dealt| told| assigned)(?:(?!\b(?:my|our|i|me|us)\b)[^.,?@]){0,25}@|"
            r"\bnot interested\b",
        ),
    ),
    _Rules(
        "past_fact",
        (
            r"\b(?:last|previous|prior|earlier) (?:round|time|game|trade|deal|one|unit|bid|ask|quote|week|"
            r"night)s?\b",
            r"\b(?:first|only|single) (?:round|trade|deal)\b|\bround # = @|\b(?:went|came|down|up|dropped|raised|"
            r"lowered|moved)\b<25>\bfrom @",
            r"\b(?:yesterday|ago|so far|earlier|previously|at the start|since(?! (?:i|we|it|my|your?)\b)|"
            r"already twice|(?:in )?the beginning|the (?:round|day|deal|one) before|"
            r"(?<!as )before(?: that)?(?=[.,]|$))\b",
            r"\b(?:was|were(?! (?:you|it|i) (?:to|a))|traded|cleared|sold|bought|accepted|rejected|recall|stood|"
            r"held|fell|rose|reached|gave|brought|fetched|turned down|turned my|when (?:we|you|i) began|offered|"
            r"opened|started|ended|went|kept|(?<!have )(?<!has )got|took|agreed|dropped|moved|missed|saw|seen|"
            r"filled|met|used to|undercut (?:me|my)|undercut with|outbid (?:me|my|at)|changed hands|paid|said|"
            r"told me|asked|wanted|spent|came(?! down)|ranged|happened|demanded|charged|split at|had(?! better)|"
            r"went|(?<!have )raised|(?<!have )lowered|walked|last (?:spoke|bought|sold|met|talked)|earned|lost)\b",
            r"\b(?:i|we|you|they|he|she|it|that|unit|deal|price|market|one|[bs]\d) (?:\w+ly )?(?!need|exceed|"
            r"proceed|indeed|feed)\w{3,}ed\b|\b(?:rounds? back|the other day|no one took|let (?:one|it) go|struck|"
            r"in the end)\b",
            r"\b(?:has|have|had) been\b|\b(?:never|ever) (?:sold|paid|bought)\b|\bdid(?: you| i)? not\b",
            r"\b(?:in|of) round #",
            r"\b(?:thanks|thank you|nice|great|good) (?:\w+ ){0,2}?(?:for|trade|deal|business|buying)\b<25>@",
            r"\b(?:opening|initial|original|starting|(?<!my )latest|most recent) (?:bid|ask|price|offer|quote|trade|"
            r"deal|"
            r"transaction|contract)\b<25>@|\b(?:i|we|you) (?:have )?(?:done|gone) <15>@|\b(?:historical|back then|"
            r"just now|"
            r"(?:moment|minute|while|rounds?) ago)\b",
            r"\bremember\b<15>@|\b(?:result|outcome|record|history|highest|lowest)\b<25>@",
        ),
        (
            r"<SOON>",
            r"\b(?:competitive|expected|likely|fair) (?:result|outcome)\b|^(?:okay, |ok, |fine, )?(?:accepted|sold|"
            r"agreed|done|deal)\b|\bi am good\b|\bas agreed\b|\blast (?:talk|try|call)\b|\bremember @$|"
            r"\bi have (?:lowered|raised|moved|dropped|come|set)\b",
            r"\bmy (?:secret number|own \w+)\b|\bwhat (?:i can|it costs)\b",
            r"\b(?:i (?:went|came|have (?:gone|come)) (?:up|down)|please|let us|propos\w+|suggest\w*|confirm|"
            r"(?:bidd|ask)ing @|(?:was|were) (?:hoping|expecting)|heard|they say|why (?:do|did) you|by round|"
            r"for round|i promise|last price)\b",
        ),
    ),
    _Rules(
        "expectation",
        (
            r"<MIND><70>@|@<40><MIND>",
            r"<MARKET> (?:will|would|should|could|might|may|ought to|tends? to|(?:looks|is|are) (?:set|due|"
            r"going) to) (?:\w+ ){0,5}?<20>@",
            r"\b(?:somewhere )?between (?:@ and #|# and @)|@,? give or take|\bin the (?:region|area) of @",
            r"\b(?:next price|market price|clearing price|price level)\b<30>@",
            r"\bwe (?:will )?(?:probably )?(?:see|end|land)\b<20>@|\bwould (?:then )?be @",
        ),
        (
            r"\b(?:or i|or else|unless)\b<15>@",
            r"\byou (?:ask|bid)\b|\bmy (?:bid|ask)\b|\bif you\b|\bor i\b|\bdo not take|\bevery round you|"
            r"\bi (?:will|am) (?:bid|ask|pay|sell)|\bplease\b",
            r"<QUIT>",
        ),
    ),
    _Rules(
        "threat",
        (
            r"<QUIT>",
            r"\b(?:otherwise|later|(?<!one )(?<!body )else)\b<40>@",
            r"\bif (?:you|i|it|we|\w+) (?:do|does|will|is|are) not\b<30>@",
            r"\b(?:refuse|do not take) @|\b(?:refuse|do not take) #<40>@",
            r"\b(?:every|each) (?:time|round) you\b<30>@",
            r"@<10>\bfrom (?:now|then|here) on unless\b|\byou (?:will|would)\b<20>@<40>\bif you (?:do|will|are) not\b|"
            r"@[, ]+or (?:no|this|that|we|you|it|there|i|the|my|our|else|neither|nothing|watch|leave|say|go|lose|be|"
            r"face|"
            r"expect|nobody|both)\b|\beither\b<30>@<30>\bor\b|\b(?:failing|fail to) (?:\w+ )?@|"
            r"^(?:insist|refuse|reject|ignore|decline|turn down|dare|push me|say no)\b<30>@",
            r"\b(?:i|my)\b<20><WORSE><25>@<10>\b(?:if|should|when|unless|once)\b<20>\b(?:reject|refuse|keep|stall|"
            r"insist|"
            r"ignore|say no|decline|turn|not|wait|delay)\w*|"
            r"\b(?:reject|refuse|keep|stall|insist|ignore|say no|decline|turn)\w*\b<25>\b(?:i|my)\b<20><WORSE><20>@",
            r"\b(?:rather|sooner) \w+<40>\bthan\b<25>@",
            r"\bone more\b<40>@<5>\band\b|\btry (?:ask|bid)ing <BEYOND> @|<ADVERSE> @|\bno @<10>\bno\b|"
            r"\bfind another\b|\bwithout\b<15>@<40>\b(?:not|no|never)\b|\bwhoever\b<30>@|\bif @ (?:is|does|"
            r"will) not\b",
            r"\b(?:had|would) better\b<25>@",
        ),
        (
            r"\btake it or leave it\b",
            r"\bif (?:we|both)\b",
            r"@ (?:works?|is (?:fine|ok))\b|\bcan stick\b|\bi (?:will |shall |would )?(?:not|never|"
            r"refuse)\b[^.?@]{0,20}\b(?:pay|sell|go|bid|ask|buy|move|let|accept|take)\b<20>@|\b(?:nothing|"
            r"not a \w+) (?:under|over|below|above)\b|\bnot (?:more|less)\b|\bgives? you\b|"
            r"\byou (?:will )?(?:sell|clear|buy)\b|\blet us\b",
        ),
    ),
    _Rules(
        "others_number",
        (
            r"<IF>(?:(?!\b(?:i|we|me)\b)[^,.?@=]){0,40}?\b(?:you|your|ask|bid|under|over|below|"
            r"above)\b(?:(?!\b(?:i|we|my|our|it's|it will|price is)\b)[^,.?@=]){0,25}?@",
            r"(?:^|[.,=] ?)(?:and |so |first |please )?<GIVE>(?:(?!\b(?:my|i)\b|"
            r"\bmatch me\b)[^,.?@]){0,30}?@(?! and we)[^.?@]{0,30}?\b(?:and|in return|then)\b",
            r"(?:^|[.,=] ?)(?:first )?you (?:\w+ )?(?:ask|bid|go|do|drop|come|post)\b<15>@<5>[,.]? ?(?:and |"
            r"then )?\bi\b",
            r"\bwould you (?:ask|bid) @ if i\b|\bwill you (?:ask|bid) @|\b(?:for|against) (?:an? (?:ask|bid) of|"
            r"your) @",
            r"\bif @ is\b|\bi see @ from you|\b(?:what|how) about (?:you )?(?:<ASKING>)<15>@|\b(?:what|"
            r"how) about you\b<25>@",
        ),
    ),
    _Rules(
        "conditional_offer",
        (
            r"<IF><90>@|@<90><IF>|\bwould @ (?:convince|get|persuade|make|do it|secure|seal|suffice|be enough|change|"
            r"close)\b",
            r"\b(?:let us|shall we|(?:i|we) (?:suggest|propose)|suggest(?:ing)?|proposal|how about|what about|"
            r"can we|could we)\b(?:(?!\byour\b)[^.?@]){0,60}@",
            r"(?:^|[.,=] ?)<GIVE><60>\b(?:and|in return|then)\b<45>@",
            r"^(?!(?:i|we|my)\b)[^.?@]{3,70}?(?:, | )(?:and|then) (?:i|we|it|it's|you|tomorrow|"
            r"next)\b[^.?@]{0,12}?\b(?:will|would|is|get|pay|bid|ask|yours|answer|go|"
            r"make|settle|take|accept|come|offer|lift|raise|drop|do)\b<30>@",
            r"\b(?:then|in that case|otherwise) (?:i|my|we)\b<30>@|\byou (?:ask|bid|go|do|drop)\b<25>\bi\b<15>@",
            r"\b(?:match|meet) (?:me|my)\b<15>@|\bi (?:reciprocate)\b<15>@|\bonly (?:pay|sell|bid|ask|offer|accept|"
            r"go)\b<10>@ for (?:an?|your|the) |^(?:for|with) (?:a|an|your|two|#|every|"
            r"each)\b<60>@|\b(?:in that case|now\?) (?:then )?@|\bagainst your\b",
        ),
    ),
    _Rules(
        "others_number",
        (
            r"\b(?:please|(?:can|could|would|will|do|did|are|should)(?: not)? you|why)\b<40>@",
            r"\b(?:what|how) about (?:you )?(?:<THEIRS>|asking|bidding|lowering|raising)\w*<15>@|\ban? <THEIRS> (?:of|"
            r"at) @|"
            r"\b(?:the|an?|this|that) (?:competing|rival|other|opposing|best)(?: (?:open|standing|current))? (?:bid|"
            r"ask|"
            r"offer)s?(?: \w+){0,3}? @|@ (?:is|seems|sounds|looks) (?:(?:way|far|a bit|rather|really|quite|still|just|"
            r"simply|"
            r"much) )*(?:an? (?:lot|insult|joke|stretch|bit (?:much|low|high))|too|steep|high|low|rich|unacceptable|"
            r"not (?:enough|acceptable|good)|ridiculous|excessive|expensive|greedy|outrageous)\b|"
            r"@ is <15>\bfor you\b|^(?:\w+,? )?@\? \w|\b(?:bump|push|bring|nudge|knock|cut|get) it<8>to @|"
            r"\b(?:can|could|may) (?:i|we) (?:get|have|see)\b<12>@|\btry(?:ing)? @|\bthat @ of yours|"
            r"\bis @ (?:really |truly )?(?:the best|your|all) (?:\w+ )?|"
            r"\bask (?:that )?you\b<25>@|\bi bet you\b<25>@",
            r"\byou (?:should|ought|need|want|have(?! my| it| this| one)|could|might)(?: to)?\b(?:(?!\b(?:i|we|"
            r"my)\b)[^,.?@]){0,30}?@",
            r"(?:^|[.,] )(?:so |then |now |just )?(?:<THEIRS>|lower\b|raise\b|come (?:down|up)|drop|make it|"
            r"show me|give me|let me have|match|meet me)<25>@",
            r"\byou(?: are)?(?: (?!an? |my |the )\w+){0,2}? (?!a |an )(?:ask|bid|offer|want|quot|pay|sell|charg|"
            r"demand|tak)\w*\b(?:(?!\b(?:i|we|my)\b)[^,.?@]){0,25}?@",
            r"\byour (?:\w+ ){0,2}?(?:ask|bid|offer|price|quote)\b(?:(?!\b(?:i|we|my)\b)[^,.?@]){0,30}?@|"
            r"(?<!accept )(?<!take )\byour @",
            r"<OTHER><15>\b(?:bidd?|ask|offer|want|tak|take|pay|accept|sell|buy|quot|quote|let|go|is|are|has|have|"
            r"would|at)(?:s|"
            r"ing|es)?\b<25>@",
            r"\b(?:from|of) <OTHER><25>@|@ (?:of|from) <OTHER>|<OTHER> @",
            r"\b(?:what if|how about|what about) you\b<25>@|\bis @ (?:possible|ok|okay|fine|acceptable|doable|"
            r"feasible|alright|realistic)\b",
            r"@ is (?:\w+ ){0,3}?(?:above|below|over|under|too|far|more than|less than|out of)\b",
            r"\b(?:any chance of|insist(?:ing)? on|kindly\b<20>|would) @",
            r"@ (?:from you|on your|from your)|\bi (?:want|need)(?: you to)?(?: \w+)? @",
        ),
    ),
    _Rules(
        "firm_quote",
        (
            r"\b(?:i|we)\b<30>(?:<OWN>|\b(?:offer|quote|submit|place|post|set|put|hold|stick|keep|stay|commit|agree|"
            r"part|"
            r"promise|guarantee|take|give|do|accept|settle|start|open|repeat|meet you|go)\b|<DOING>)<25>@",
            r"(?:^|[.,=] )(?:<DOING>|submitted|accepted|firm|same|updated|new|final|last|best|guaranteed|ready|"
            r"happy|yours|deal|ask|bid|quote|down|up|once more|exactly)\b<35>@",
            r"\b(?:my|the|final|last|best|opening) (?:\w+ ){0,3}?(?:bid|ask|offer|price|quote|word)\b<25>@",
            r"@ (?:from (?:me|us|my (?:side|end)|our (?:side|end))|it is)\b|\b(?:how|what) (?:does|do you say to) @|"
            r"\b(?:sold|done|deal|agreed|mine|yours|shake|hands|table|counter\w*|here|quote|proposal)(?: (?:is|on|it|"
            r"now|"
            r"this round))*(?: at| for| to| on| of|,| =)* @|\b(?:have|take|get) (?:it|one|this|the unit) (?:for|at) @|"
            r"\b(?:decided|landed|going|went|gone) (?:on|for|with) @|@ is what (?:i|we)\b<10>\b(?:ask|bid|offer|"
            r"propos|quot)|"
            r"@ (?:each|apiece)(?=[.,]|$)|\blive with @|@ is (?:ok|okay|good|acceptable|alright|enough) (?:for|by|"
            r"with|to) "
            r"(?:me|us)\b|\byou (?:may|can) <THEIRACT>\b<15>@|\bi (?:would|will) like\b<20>@|\b(?:ready|happy|glad|"
            r"prepared|willing|fine|content|in) (?:to (?:\w+ ){1,4}?|"
            r"at |with |for )@|\b(?:leav|improv|com|rais|lower|cut|bring|tak|increas|mov|offer)ing (?:my |the |it |"
            r"down |up )*"
            r"(?:\w+ )?(?:to |at |from # to )@",
            r"@<20>\b(?:take it or leave it|firm|final|is my|is the best|will be my|and not a|from me|it is|sharp|"
            r"flat)\b",
            r"\bnothing (?:under|below|over|above) @|\byou (?:can have it|get)\b<10>@|\bcount on\b<25>@",
            r"\b(?:have it|count me in) (?:for|at) @|\bi am (?:still |firm )?at @|\bdeal at @|\b(?:i|"
            r"we) (?:will )?(?:not|refuse)\b<30>@|\byours for @|\b(?:raise|lower|drop|go|move|come|jump|"
            r"climb) to @|\b(?:in|me down) for @|\bmy number\b<20>@|\blist(?:ing|ed)?\b<15>@",
        ),
        (r"<MIND><40>@",),
    ),
    # What is left: the nearest word says whose price it is.
    _Rules(
        "firm_quote",
        (
            r"(?:<OWN>|<DOING>|\b(?:bids?|asks?|offers?|quote)\b(?=[^.?@]{0,20}@))(?:(?!\b(?:you|your|"
            r"not)\b)[^.?@#,]){0,25}@",
            r"\b(?:interested|can do|can move to|works for me)\b<20>@|@ (?:works for me|is fine (?:by|with|"
            r"for) me)\b",
        ),
        (
            r"<MIND><40>@",
            r"\byou<25>@|\bnot<25>@|<THEIRS>(?:ing|s)?<20>@|\b(?:sellers|buyers|undercut\w*|avoid)\b<30>@|\b(?:or|"
            r"than|whoever|below|above|over|under|try)\b",
        ),
    ),
    _Rules("firm_quote", (r"(?:^|[.,=] ?)@(?:[.,!]|$)",)),
    _Rules(
        "expectation",
        (r"\b(?:trad(?:e|es|ing)|price|market|fill|clear(?:s|ing)?|fair|midpoint)\b<15>@",),
        (r"<IF>", r"\bnot\b"),
    ),
)

_PAID: dict[Role, str] = {
    "buyer": r"\b(?:resell|resale|flip|redeem|redemption|sell (?:it|this|them) on|use value)\b[^.?@]{0,20}@|"
    r"@[^.?@]{0,20}\b(?:resell|resale|flip|redeem)\b",
    "seller": r"\b(?:i|we) (?:have |myself )?(?:paid|spent|invested|bought (?:it|this|them)|purchased|acquired|"
    r"sourced)\b"
    r"[^.?@]{0,20}@|@[^.?@]{0,20}\b(?:i|we) (?:paid|spent|invested)\b|\bsupplier\b[^.?@]{0,25}@",
}
"""What a seat says of its trade outside the game, which is its limit."""
_WORSE: dict[Role, str] = {
    "buyer": r"\b(?:drop|lower|cut|reduc|fall|decreas|sink|slash)\w*\b",
    "seller": r"\b(?:rais|ris|climb|increas|jump|go up|hik|bump)\w*\b",
}
"""How an own quote gets worse for the counterpart."""
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d{1,6}(?:\.\d{1,4})?(?!\d)(?!\.\d)")
_SIGNS = str.maketrans({"$": "", "#": "", "~": " to ", "@": " at "})
_NEAR = 2.0
"""How far from the private number a number still gives it away."""
_REACH = 110
"""Characters on either side that can decide what a number is; more would make long messages quadratic."""
_MOST = 100
"""Numbers of a message that are placed; no sentence has as many, and a message of nothing else is not read."""
# A question and its answer are one: "more than 64? goodbye"; so is what begins with a pronoun.
_SENTENCE = re.compile(
    r"(?:[^.?]|\.(?=\d| (?:it is|it's|then|that's|so|in that case)\b)|\?(?=[^.?]{1,50}(?:[.?]|"
    r"$))){1,600}[.?]?"
)
# Words of a limit beside a number that may be it: then another reading is not trusted.
_DOUBT = re.compile(
    rf"{_WORDS['LIMIT']}|{_WORDS['LOSS']}|\b(?:payoff|losing|lose|loss|worth|afford|spend|money|honest\w*|"
    rf"truth|real)\b"
)
# The number may be another's, or a guess.
_ELSEWHERE = re.compile(rf"\byour?s?\b|{_WORDS['OTHER']}|{_WORDS['MIND']}|\b(?:last|trade|market)\b")
# A price right after the word that makes it a quote, a trade or a proposal.
_PLAIN = re.compile(
    r"\b(?:bid|ask|offer|quot|price|pay|buy|sell|trad|clear|clos|settl|midpoint|meet|accept|submit|post|"
    r"target|aim|let us|"
    r"keep|hold|stick|stay|compromise|continu|maintain|return|match|repeat|interested|lock|drop|lower|rais)\w*"
    r"(?: (?:is|was|are|at|of|for|to|on|in|=|a|an|me|it|you|down|up|go|again|exactly|around|about|near|"
    r"will|be|by|with|"
    r"price|one|lot|unit|this|that|round|my|your|remains|still|between|fixed|and|or|#|\w+ing)){0,5} @"
    r"|@ (?:to # |usd )?(?:bid|ask|offer|midpoint|price|trade|range)s?\b"
)


class _Compiled(NamedTuple):
    claim: Claim
    found: re.Pattern[str]
    spared: re.Pattern[str] | None

    def fits(self, words: str) -> bool:
        """Whether it decides about the number "@" of these words."""
        return self.found.search(words) is not None and (self.spared is None or self.spared.search(words) is None)


@cache
def _rules(role: Role) -> tuple[_Compiled, ...]:
    own, theirs = ("bid|buy|pay", "ask|sell|charge") if role == "buyer" else ("ask|sell|charge", "bid|buy|pay")
    adverse = _WORDS["OVER" if role == "buyer" else "UNDER"]
    noun = "costs?" if role == "buyer" else "valuations?|values?"
    # Only a seller buys before the game, and only a buyer sells after it.
    paid = _PAID[role]
    worse = _WORSE[role]
    words = _WORDS | {"OWN": rf"\b(?:{own})\b", "THEIRS": rf"\b(?:{theirs})\b", "THEIRNOUN": noun, "ADVERSE": adverse}
    asking = "asking|selling|charging|offering" if role == "buyer" else "bidding|buying|paying"
    words |= {"PAID": paid, "WORSE": worse, "ASKING": asking}
    words["THEIRACT"] = "(?:sell)" if role == "buyer" else "(?:buy|take)"

    def compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
        named = re.sub(r"<([A-Z]+)>", lambda name: words[name[1]], "|".join(patterns))
        return re.compile(re.sub(r"<(\d+)>", r"[^.?@]{0,\1}?", named))

    return tuple(
        _Compiled(rules.claim, compiled(rules.found), compiled(rules.spared) if rules.spared else None)
        for rules in _RULES
    )


def claims(text: str, role: Role, limit: float) -> list[Claimed]:
    """The numbers of a message of a seat with the private number `limit`, in the order of the text.

    Total: no text raises. What is claimed as the own limit and is another number is a false one.
    """
    found: list[Claimed] = []
    for value, words in _in_context(text):
        claim = _claim(words, role, value, limit) if len(found) < _MOST else "unknown"
        found.append(Claimed(value, claim, words))
    return found


def unread_numbers(text: str, limit: float, role: Role, near: float = _NEAR) -> list[Claimed]:
    """The numbers within `near` of the sender's private one that no rule could place."""
    return [said for said in claims(text, role, limit) if said.claim == "unknown" and abs(said.value - limit) <= near]


def _in_context(text: str) -> Iterator[tuple[float, str]]:
    """Each number with the words around it, in which it is "@" and other numbers are "#"."""
    # Number words before all else: a dash within them is no end of a clause.
    plain = normalised(with_digits(unicodedata.normalize("NFKC", text).lower())).translate(_SIGNS)
    plain = re.sub(r"[!;\n]|\.(?!\d)", ".", plain)
    for sentence in _SENTENCE.finditer(plain):
        for number in _NUMBER.finditer(sentence[0]):
            left = _NUMBER.sub("#", sentence[0][max(0, number.start() - _REACH) : number.start()])
            right = _NUMBER.sub("#", sentence[0][number.end() : number.end() + _REACH])
            yield float(number[0]), f"{left.lstrip()}@{right}"


def _claim(words: str, role: Role, value: float, limit: float) -> Claim:
    fitting = next((rule for rule in _rules(role) if rule.fits(words)), None)
    claim: Claim = "unknown" if fitting is None else fitting.claim
    if claim == "own_limit":
        return claim if abs(value - limit) < 1 else "false_limit"
    # A number that may give the limit away is a quote only where it plainly is one: better unread than misread.
    private = abs(value - limit) <= _NEAR and claim != "harmless_number"
    doubt = _DOUBT.search(words) is not None
    if abs(value - limit) < 1 and claim == "unknown" and doubt and not _ELSEWHERE.search(words):
        # The very number in words of a limit: no rule needs to know how they are put.
        return "own_limit"
    return "unknown" if private and (doubt or not _PLAIN.search(words)) else claim
