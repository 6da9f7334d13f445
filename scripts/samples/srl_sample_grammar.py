"""The grammar of the embedded SRL sample: how a frame of `srl_sample_lexicon` becomes a sentence.

`Lexicon` divides the words into words that train may show and held-out words. `Writer` makes the sentences of one
split: it plans a verb with a frame and a voice, and turns the plan into a clause (tense, questions, fronting, relative
clauses, control, reported speech), noting which tokens fill which role.
"""

from collections import Counter

import srl_sample_lexicon as lexicon

MIN_TOKENS, MAX_TOKENS = 4, 21
HELD_OUT_NOUNS, HELD_OUT_MODIFIERS = 0.15, 0.12  # share of each list that train never sees
UNSEEN_NOUN, UNSEEN_MODIFIER, UNSEEN_PREDICATE = 0.16, 0.12, 0.15  # how often dev and test draw from it
NUMBERS = "two three four five six seven eight nine ten eleven twelve twenty thirty forty ninety".split()
PRONOUNS = {  # subject form: (object form, possessive, grammatical person, plural)
    "I": ("me", "my", 1, False),
    "you": ("you", "your", 2, True),
    "he": ("him", "his", 3, False),
    "she": ("her", "her", 3, False),
    "we": ("us", "our", 1, True),
    "they": ("them", "their", 3, True),
}
CONTROL_KINDS = ("that", "inf", "tough")
# These are never questioned, fronted or made the subject of a passive.
BARE_KINDS = ("time", "money", "percent", "adj", "title", "indef") + CONTROL_KINDS
PROPER = ("city", "first", "last", "month", "day")
CLOSED = ("month", "day", "title", "quality", "noise", "part_of_day", "blade", "subject")
STATIVE = ("be", "seem", "fear", "want", "swarm", "provide", "say")  # verb classes without a progressive
NOT_DELIBERATE = STATIVE + ("wait", "arrive", "frighten", "break", "open", "roll", "change", "begin", "tell", "turn")
RELATIVE_KINDS = """person org thing animal text vehicle fragile place container topic rolling amount
    opening""".split()  # what a relative clause may follow
# The weight of a verb class when one is drawn; classes that are not listed have weight 1.
CLASS_WEIGHT = {
    "say": 2,
    "give": 2,
    "send": 2,
    "break": 2,
    "load": 2,
    "spray": 2,
    "want": 2,
    "tell": 2,
    "seem": 1.5,
    "repair": 1.5,
    "notice": 1.5,
    "visit": 1.5,
    "blame": 1.5,
    "promise": 0.8,
    "swarm": 0.6,
    "be": 0.5,
}
SENTENCE_KINDS = {
    "plain": 46,
    "coordinated": 9,
    "reported": 7,
    "yes_no": 4,
    "wh": 6,
    "imperative": 5,
    "adjectival": 9,
    "shared_object": 3,
    "gerund": 5,
    "fragment": 3,
}


class NoPlan(Exception):
    """No fitting verb was found; the sentence is abandoned and another one made."""


class Token:
    """One word; compared by identity, so that a frame can point at it before its place is known."""

    __slots__ = ("word", "pos")

    def __init__(self, word, pos):
        self.word, self.pos = word, pos


def say(text):
    """Fixed words, each spelt word_TAG, as tokens."""
    return [Token(*item.rsplit("_", 1)) for item in text.split()]


def preposition(word):
    return Token(word, "TO" if word == "to" else "IN")


class Phrase(list):
    """Tokens with what agreement and relative clauses need to know."""

    def __init__(self, tokens=(), kind="", plural=False, person=3, pronoun=False):
        super().__init__(tokens)
        self.kind, self.plural, self.person, self.pronoun = kind, plural, person, pronoun


class Frame:
    """A predicate with its arguments; `fillers` has, by role, the argument that an embedded clause may share."""

    def __init__(self, token, lemma, sense="01"):
        self.token, self.lemma, self.sense = token, lemma, sense
        self.args, self.fillers = [], {}

    def add(self, role, filler):
        """`filler`: tokens, or a list of (prefix, tokens), such as an antecedent with its R- pronoun."""
        if not isinstance(filler[0], tuple):
            filler = [("", filler)]
        self.fillers[role] = filler
        self.args.extend((prefix + role, tokens) for prefix, tokens in filler)


class Slot:
    """One slot of a frame line, settled on one preposition (or none) and one kind."""

    def __init__(self, role, prep, kind):
        self.role, self.prep = role, prep
        self.kind, _, self.control = kind.partition("@")  # control: the role that an inf or tough slot shares

    def nominal(self):
        """Whether it is filled by a noun phrase that may be questioned, fronted or made the subject."""
        return self.kind not in BARE_KINDS


class Plan:
    """A verb with one of its frames, a voice and the slots in the order they will be spoken."""

    def __init__(self, name, lemma, sense, subject, complements, passive=False):
        self.name, self.lemma, self.sense = name, lemma, sense
        self.subject, self.complements, self.passive = subject, complements, passive

    def kinds(self):
        return [slot.kind for slot in self.complements]

    def embeds(self):
        return any(slot.kind in CONTROL_KINDS for slot in self.complements)


class Clause:
    """A finite clause in parts, so that reported speech can be split and questions inverted."""

    def __init__(self, front, subject, rest):
        self.front, self.subject, self.rest = front, subject, rest

    def tokens(self):
        return self.front + self.subject + self.rest


class Lexicon:
    """The word lists, divided once into words that train may show and held-out words."""

    def __init__(self, rng):
        self.rng = rng
        self.nouns = {kind: text.split() for kind, text in lexicon.NOUNS.items()}
        modifiers = [*lexicon.ADJECTIVES.items(), *lexicon.ADVERBS.items()]
        self.modifiers = {kind: text.split() for kind, text in modifiers}
        self.held_out = set()
        for kind, words in self.nouns.items():
            if kind not in CLOSED:
                # A word may be in several lists; so what an earlier list held out counts here too.
                fresh = [w for w in words if w.rstrip("~+") not in self.held_out]
                already = len(words) - len(fresh)
                count = int(len(words) * HELD_OUT_NOUNS + 0.5) - already
                self.hold_out([w.rstrip("~+") for w in fresh], count)
        for kind, words in self.modifiers.items():
            if kind != "discourse":
                self.hold_out(words, int(len(words) * HELD_OUT_MODIFIERS + 0.5))
        self.held_out_predicates = set()
        tables = [  # for verbs, nominals and adjectives: the lemmas of each class
            [[verb_lemma(verb) for verb in text.split()] for text, _ in lexicon.VERB_CLASSES.values()],
            [[noun.split("<")[1] for noun in text.split()] for text, _ in lexicon.NOMINAL_CLASSES.values()],
            [text.split() for text, _ in lexicon.ADJECTIVE_CLASSES.values()],
        ]
        in_use = Counter(lemma for classes in tables for lemmas in classes for lemma in lemmas)
        for classes in tables:
            for lemmas in classes:
                # Only a lemma of one class, and of a class large enough to be learnt from its other members.
                single = [lemma for lemma in lemmas if in_use[lemma] == 1]
                if len(lemmas) >= 5 and single:
                    count = max(1, int(len(lemmas) * 0.15 + 0.5))
                    self.held_out_predicates.update(rng.sample(single, min(count, len(single))))

    def hold_out(self, words, count):
        self.held_out.update(self.rng.sample(words, max(0, count)))

    def pick(self, words, unseen, held_out, key=lambda word: word.rstrip("~+")):
        """Draw a word; `unseen` is the chance of a held-out one (zero in train)."""
        new = [w for w in words if key(w) in held_out]
        old = [w for w in words if key(w) not in held_out]
        if new and unseen and self.rng.random() < unseen:
            return self.rng.choice(new)
        return self.rng.choice(old)


def verb_lemma(entry):
    """The lemma of an entry such as `wait=for` or `find.02`."""
    return entry.split("=")[0].split(".")[0]


def inflect(lemma, form):
    """`form` is one of base, s, past, en, ing."""
    if form == "base":
        return lemma
    y = lemma.endswith("y") and lemma[-2] not in "aeiou"
    if form == "s":
        if y:
            return lemma[:-1] + "ies"
        return lemma + ("es" if lemma.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
    if form in ("past", "en") and lemma in lexicon.IRREGULAR:
        return lexicon.IRREGULAR[lemma][form == "en"]
    stem = lemma + lemma[-1] if lemma in lexicon.DOUBLING else lemma
    if form == "ing":
        if lemma.endswith("ie"):
            return lemma[:-2] + "ying"
        return (stem[:-1] if stem.endswith("e") and not stem.endswith(("ee", "be")) else stem) + "ing"
    if y:
        return lemma[:-1] + "ied"
    return stem + ("d" if stem.endswith("e") else "ed")


AUXILIARIES = {  # present singular, present plural, past singular, past plural
    "be": "is are was were",
    "have": "has have had had",
    "do": "does do did did",
}
FORM_TAG = {"base": "VB", "en": "VBN", "ing": "VBG"}


def finite(lemma, past, subject):
    """The token of a finite verb that agrees with its subject."""
    plural = subject.plural or subject.person != 3
    if lemma == "be" and subject.person == 1 and not subject.plural:
        return Token("was" if past else "am", "VBD" if past else "VBP")
    if lemma in AUXILIARIES:
        word = AUXILIARIES[lemma].split()[2 * past + plural]
    else:
        word = inflect(lemma, "past" if past else "base" if plural else "s")
    return Token(word, "VBD" if past else "VBP" if plural else "VBZ")


def spell(tokens):
    """Makes `a` of a sentence `an` where the next word begins with a vowel, and its first letter a capital."""
    for here, following in zip(tokens, tokens[1:]):
        if here.word == "a" and here.pos == "DT":
            sound = following.word.lower()
            here.word = (
                "an"
                if sound[0] in "aeiou" and not sound.startswith(("uni", "use")) or sound in ("hour", "honest")
                else "a"
            )
    first = next(token for token in tokens if token.pos != "``")
    first.word = first.word[0].upper() + first.word[1:]


def embedded(tense):
    """The tense of a time or condition clause, given the tense of its main clause."""
    return "present" if tense in ("modal", "present") else "past"


class Writer:
    """Makes the sentences of one split."""

    def __init__(self, rng, words, train):
        self.rng, self.words, self.train = rng, words, train
        self.frames, self.used = [], set()

    # ---- drawing -------------------------------------------------------------------------------------------

    def chance(self, probability):
        return self.rng.random() < probability

    def one_of(self, text):
        """One of the words of a line."""
        return self.rng.choice(text.split())

    def weighted(self, weights):
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def noun(self, kind):
        """A noun as (singular, plural, mass, plural only); if possible, not one that the sentence already has."""
        pool = self.words.nouns[kind]
        for _ in range(8):
            unseen = 0 if self.train or kind in CLOSED else UNSEEN_NOUN
            entry = self.words.pick(pool, unseen, self.words.held_out)
            if entry not in self.used:
                break
        self.used.add(entry)
        bare = entry.rstrip("~+")
        if "/" in bare:
            singular, plural = bare.split("/")
        else:
            singular, plural = bare, inflect(bare, "s")
        return singular, plural, entry.endswith("~"), entry.endswith("+")

    def modifier(self, kind):
        unseen = 0 if self.train else UNSEEN_MODIFIER
        return self.words.pick(self.words.modifiers[kind], unseen, self.words.held_out)

    def predicate(self, entries, key):
        unseen = 0 if self.train else UNSEEN_PREDICATE
        return self.words.pick(entries.split(), unseen, self.words.held_out_predicates, key)

    def slots(self, lines, prep="", optional=0.5):
        """Draw a frame line by weight and settle its optional slots, prepositions and kinds."""
        parsed = [line.partition(" ") for line in lines]
        parsed = [(float(w), rest) if w.isdigit() else (1.0, w + " " + rest) for w, _, rest in parsed]
        line = self.rng.choices([rest for _, rest in parsed], [w for w, _ in parsed])[0]
        slots = []
        for item in line.split():
            role, _, filler = item.partition(":")
            if role.endswith("?"):
                if not self.chance(optional):
                    continue
                role = role[:-1]
            preps, _, kinds = filler.rpartition("/")
            preps = self.rng.choice(preps.replace("PREP", prep).split(",")) if preps else ""
            slots.append(Slot(role, preps, self.rng.choice(kinds.split("|"))))
        return slots

    def plan(self, accept=lambda plan: True, depth=0, passive=0.2):
        """A verb with a frame for which `accept` is true; raises NoPlan when 300 draws found none."""
        weights = {name: CLASS_WEIGHT.get(name, 1) for name in lexicon.VERB_CLASSES}
        for _ in range(300):
            name = self.weighted(weights)
            verbs, lines = lexicon.VERB_CLASSES[name]
            verb = self.predicate(verbs, key=verb_lemma)
            verb, _, prep = verb.partition("=")
            lemma, _, sense = verb.partition(".")
            subject, *complements = self.slots(lines, prep)
            plan = Plan(name, lemma, sense or "01", subject, complements)
            if depth and plan.embeds() and (depth > 1 or self.chance(0.6)):
                continue
            first = complements[0] if complements else None
            if (
                first
                and not first.prep
                and first.nominal()
                and subject.role == "ARG0"
                and not any(slot.control == "ARG0" for slot in complements)
                and self.chance(passive)
            ):
                agent = [Slot("ARG0", "by", subject.kind)] if self.chance(0.5) else []
                # The agent may come before the other complements, but not before a bare one.
                early = all(slot.prep for slot in complements[1:]) and self.chance(0.5)
                place = 1 if early else len(complements)
                rest = complements[1:]
                rest[place - 1 : place - 1] = agent
                plan = Plan(name, lemma, plan.sense, first, rest, passive=True)
            if accept(plan):
                return plan
        raise NoPlan

    # ---- noun phrases --------------------------------------------------------------------------------------

    def np(self, kind, case="obj", depth=0, avoid=None, bare=False):  # noqa: C901 - a branch a rule of the grammar
        """A noun phrase. An object must `avoid` the subject's pronoun; a bare one has no modifiers."""
        if kind == "money":
            return Phrase([Token(self.rng.choice(NUMBERS), "CD"), Token("dollars", "NNS")], kind, plural=True)
        if kind == "percent":
            return Phrase([Token(self.rng.choice(NUMBERS), "CD"), Token("percent", "NN")], kind)
        if kind == "time":
            return self.stretch()
        if kind == "adj":
            return Phrase([Token(self.modifier("result"), "JJ")], kind)
        if kind == "indef":
            singular, plural, _, _ = self.noun("person")
            many = avoid is not None and avoid.plural  # "we became rich lawyers"
            noun = f"{plural}_NNS" if many else f"{singular}_NN"
            return Phrase(say(f"{'' if many else 'a_DT'} {self.modifier('person')}_JJ {noun}"), kind)
        if kind in ("title", "subject"):
            word = self.noun(kind)[0]
            return Phrase([Token(word, "NNP" if word[0].isupper() else "NN")], kind)
        if kind == "person":
            roll = self.rng.random()
            if roll < 0.15 and not bare:
                pronoun = self.pronoun(case, avoid)
                if pronoun:
                    return pronoun
            elif roll < 0.42:
                return self.name(case, depth, bare)
        if kind in PROPER:
            return Phrase([Token(self.noun(kind)[0], "NNP")], kind)
        if kind in ("topic", "event") and depth < 2 and not bare and self.chance(0.25):
            return self.nominal(kind)
        return self.common(kind, case, depth, bare)

    def pronoun(self, case, avoid):
        taken = getattr(avoid, "person", 3)  # "we saw us" is out, "he saw him" is not
        persons = [p for p in PRONOUNS if avoid is None or PRONOUNS[p][2] == 3 or PRONOUNS[p][2] != taken]
        subject = self.rng.choice(persons)
        if subject in self.used:
            return None
        self.used.add(subject)
        obj, _, person, plural = PRONOUNS[subject]
        token = Token(subject if case == "subj" else obj, "PRP")
        return Phrase([token], "person", plural, person, pronoun=True)

    def name(self, case, depth, bare):
        if self.chance(0.2):
            tokens = say(f"{self.one_of('Mr. Mrs. Dr.')}_NNP {self.noun('last')[0]}_NNP")
        else:
            tokens = [Token(self.noun("first")[0], "NNP")]
            if self.chance(0.25):
                tokens.append(Token(self.noun("last")[0], "NNP"))
        phrase = Phrase(tokens, "person")
        if case == "subj" and depth == 0 and not bare and self.chance(0.08):
            phrase += say(f",_, the_DT {self.noun('title')[0]}_NN of_IN")
            phrase += self.np("org", depth=2, bare=True) + [Token(",", ",")]
        return phrase

    def common(self, kind, case, depth, bare):
        """Determiner, adjective, noun and sometimes what follows the noun."""
        singular, plural, mass, only_plural = self.noun(kind)
        countable = not mass and kind not in ("org", "place", "event", "swarm")
        many = only_plural or countable and self.chance(0.22)
        noun = Token(singular if not many or only_plural else plural, "NNS" if many else "NN")
        tokens, roll = [], self.rng.random()
        if kind in ("stuff", "swarm") and roll < 0.75:
            pass
        elif roll < 0.08 and kind in ("thing", "text", "container", "vehicle", "food") and not bare:
            tokens = self.possessor()
        elif roll < 0.17 and kind != "part":
            tokens = [Token(self.rng.choice([forms[1] for forms in PRONOUNS.values()]), "PRP$")]
        elif roll < 0.42 and not mass:
            several = "two_CD three_CD four_CD several_JJ many_JJ some_DT"
            one = "a_DT " * 8 + "every_DT another_DT"
            tokens = say(self.one_of(several if many else one))
        elif roll < 0.46:
            tokens = [Token(self.rng.choice(["these", "those"] if many else ["this", "that"]), "DT")]
        else:
            tokens = [Token("the", "DT")]
        if self.chance(0.27):
            style = {"person": "person", "topic": "topic", "event": "topic", "text": "topic", "amount": "topic"}.get(
                kind, "thing"
            )
            if kind not in ("org", "animal", "swarm", "place", "waterside", "part"):
                tokens = tokens + [Token(self.modifier(style), "JJ")]
        phrase = Phrase(tokens + [noun], kind, many)
        if not bare and depth < 2:
            self.postmodify(phrase, kind, case, depth)
        return phrase

    def possessor(self):
        """`the clerk 's`, `Anna 's` or a possessive pronoun, as the tokens before a noun."""
        if self.chance(0.3):
            return [Token(self.rng.choice([forms[1] for forms in PRONOUNS.values()]), "PRP$")]
        owner = self.np("person", depth=2, bare=True)
        return owner + [Token("'" if owner[-1].word.endswith("s") and owner.plural else "'s", "POS")]

    def postmodify(self, phrase, kind, case, depth):
        """Add a prepositional phrase or a relative clause to the noun phrase."""
        roll, subject = self.rng.random(), case == "subj"
        if kind in RELATIVE_KINDS and depth == 0 and roll < (0.2 if subject else 0.11):
            phrase += self.relative(phrase, depth)
        elif roll < (0.45 if subject else 0.3):
            # Some occur only in a subject: after an object they would be read as an adjunct of the verb.
            line = {
                "person": "from/city",
                "text": "about/topic about/event about/city",
                "thing": "with/part from/city",
                "topic": "of/org",
                "container": "with/part of/stuff",
                "fragile": "with/part",
                "vehicle": "from/city",
                "surface": "of/place",
                "place": "of/org near/waterside",
                "opening": "of/place",
            }.get(kind, "")
            line += (
                {
                    "person": " with/thing in/place near/waterside",
                    "org": " in/city",
                    "rolling": " on/place",
                    "fragile": " on/surface in/place",
                    "event": " in/city",
                    "amount": " of/org",
                    "opening": " near/waterside",
                }.get(kind, "")
                if subject
                else ""
            )
            choices = line.split()
            if choices and not (kind != "person" and not subject and self.chance(0.4)):
                prep, _, inner = self.rng.choice(choices).partition("/")
                simple = inner not in ("topic", "event")
                phrase += [Token(prep, "IN")] + self.np(inner, depth=depth + 1, bare=simple)

    def relative(self, head, depth):
        """A relative clause: with a subject, object or prepositional gap, `where`, or a bare participle."""
        core, kind, human = list(head), head.kind, head.kind == "person"
        antecedent = Phrase(core, kind, head.plural)
        styles = {"subject": 5, "object": 4, "oblique": 2, "reduced": 3, "where": 8 * (kind == "place")}
        style = self.weighted(styles)
        if style in ("subject", "reduced"):
            voice = 1.0 if style == "reduced" else 0.2
            plan = self.plan(
                lambda p: (
                    p.subject.kind == kind and not p.embeds() and (style == "subject" or p.passive and p.complements)
                ),
                depth + 1,
                voice,
            )
            if style == "reduced":
                token = Token(inflect(plan.lemma, "en"), "VBN")
                frame = self.frame(plan, token)
                frame.add(plan.subject.role, core)
                return [token] + self.finish(plan, frame, antecedent, depth + 1)
            word = say(self.one_of("who_WP who_WP that_WDT" if human else "which_WDT that_WDT"))
            group, frame = self.verb_group(plan, antecedent, "past" if self.chance(0.8) else "present")
            frame.add(plan.subject.role, [("", core), ("R-", word)])
            return word + group + self.finish(plan, frame, antecedent, depth + 1)
        gap = {
            "object": lambda s: not s.prep,
            "oblique": lambda s: bool(s.prep) and s.role.startswith("ARG") and not s.role.startswith("ARGM"),
            "where": lambda s: False,
        }[style]

        def fits(plan):
            if style == "where":
                return plan.name in ("work", "eat", "make", "visit", "read") and "ARGM-LOC" not in [
                    s.role for s in plan.complements
                ]
            return not plan.embeds() and any(gap(s) and s.kind == kind for s in plan.complements)

        plan = self.plan(fits, depth + 1, passive=0)
        slot = next((s for s in plan.complements if gap(s) and s.kind == kind), None)
        pronoun = [Token("whom" if human else "which", "WP" if human else "WDT")]
        role = slot.role if slot else "ARGM-LOC"
        if style == "where":
            pronoun = [Token("where", "WRB")]
        elif slot.prep:
            pronoun.insert(0, Token(slot.prep, "IN"))
        elif self.chance(0.35):
            pronoun = []  # "the vase the boy broke": no relative word, so no R- argument
        elif self.chance(0.5):
            pronoun = [Token("that", "WDT")]
        subject = self.np(plan.subject.kind, "subj", depth=2)
        group, frame = self.verb_group(plan, subject, "past")
        frame.add(plan.subject.role, subject)
        frame.add(role, [("", core)] + ([("R-", pronoun)] if pronoun else []))
        plan.complements = [s for s in plan.complements if s is not slot]
        return pronoun + subject + group + self.finish(plan, frame, subject, depth + 1)

    def nominal(self, kind):
        """A noun phrase headed by a nominal predicate: `the committee 's decision about taxes`."""
        names = ["decision", "fear"] if kind == "topic" else ["gift", "removal", "arrival"]
        nouns, lines = lexicon.NOMINAL_CLASSES[self.rng.choice(names)]
        noun, _, lemma = self.predicate(nouns, key=lambda entry: entry.split("<")[1]).partition("<")
        parsed = self.slots([line.replace(" V", " V:").replace("the V:", "the: V:") for line in lines])
        token = Token(noun.rstrip("~").split("/")[0], "NN")
        frame = Frame(token, lemma)
        self.frames.append(frame)
        phrase = Phrase(kind=kind)
        for slot in parsed:
            if slot.role == "V":
                phrase.append(token)
            elif slot.role == "the":
                phrase.append(Token("the", "DT"))
            elif slot.prep == "'s":
                owner = (
                    self.possessor()
                    if slot.kind == "person"
                    else (self.np(slot.kind, depth=2, bare=True) + [Token("'s", "POS")])
                )
                frame.add(slot.role, owner)
                phrase += owner
            else:
                filler = [Token(slot.prep, "IN")] + self.np(slot.kind, depth=2, bare=True)
                frame.add(slot.role, filler)
                phrase += filler
        return phrase

    def stretch(self):
        """A bare stretch of time, such as `an hour`: an adjunct of some verbs, the object of others."""
        unit = self.one_of("hour day week month morning evening night afternoon year")
        roll = self.rng.random()
        if roll < 0.35:
            return Phrase(say(f"{self.rng.choice(NUMBERS[:6])}_CD {unit}s_NNS"), "time", plural=True)
        if roll < 0.65:
            return Phrase(say(f"a_DT {unit}_NN"), "time")
        return Phrase(say(f"the_DT {self.one_of('whole entire')}_JJ {unit}_NN"), "time")

    # ---- verbs ---------------------------------------------------------------------------------------------

    def frame(self, plan, token):
        self.frames.append(Frame(token, plan.lemma, plan.sense))
        return self.frames[-1]

    def verb_group(self, plan, subject, tense, inverted=False, adverb=None):
        """The finite verb with its auxiliaries, and the frame begun there with ARGM-MOD and ARGM-NEG.

        `inverted` makes sure that an auxiliary stands first, so that a question can move it.
        """
        chain = {"modal": ["MODAL"], "perfect": ["have"], "progressive": ["be"]}.get(tense, [])
        after = {"modal": "base", "perfect": "en", "progressive": "ing"}
        forms = ["finite"] + ([after[tense]] if chain else [])
        if plan.passive:
            chain, forms = chain + ["be"], forms + ["en"]
        negative = self.chance(0.07)
        if not chain and (negative or inverted) and plan.lemma != "be":
            chain, forms = ["do"], ["finite", "base"]
        chain = chain + [plan.lemma]
        past = tense in ("past", "progressive") or tense == "perfect" and self.chance(0.5)
        tokens, modal, negation = [], None, None
        for word, form in zip(chain, forms):
            if word == "MODAL":
                modal = Token(self.one_of("will will can could may might must should would"), "MD")
                tokens.append(modal)
            elif form == "finite":
                tokens.append(finite(word, past, subject))
            else:
                tokens.append(Token(inflect(word, form), FORM_TAG[form]))
        head = tokens[-1]
        if negative:
            short = tokens[0].word not in ("am", "may", "might", "must") and self.chance(0.5)
            negation = Token("n't" if short and not inverted else "not", "RB")
            if negation.word == "n't" and modal:
                modal.word = {"will": "wo", "can": "ca"}.get(modal.word, modal.word)
            if not inverted:
                tokens.insert(1, negation)
        frame = self.frame(plan, head)
        if modal:
            frame.add("ARGM-MOD", [modal])
        if negation and not inverted:
            frame.add("ARGM-NEG", [negation])
        if adverb:
            frame.add("ARGM-MNR", [adverb])
            tokens.insert(len(tokens) - 1, adverb)
        return tokens, frame

    def tense(self, plan):
        tense = self.weighted({"past": 62, "present": 8, "modal": 14, "perfect": 9, "progressive": 7})
        return "past" if tense == "progressive" and plan.name in STATIVE else tense

    def infinitive(self, controller, depth, kind="person"):
        """`to` and a verb phrase whose unspoken subject is `controller`."""
        plan = self.plan(
            lambda p: p.subject.kind == kind and p.subject.role == "ARG0" and not p.passive and p.name != "say",
            depth + 1,
            passive=0,
        )
        token = Token(plan.lemma, "VB")
        frame = self.frame(plan, token)
        frame.add(plan.subject.role, controller)
        return [Token("to", "TO"), token] + self.finish(plan, frame, None, depth + 1)

    def fill(self, slot, frame, depth, subject):
        """The tokens of one complement, added to the frame."""
        kind, role = slot.kind, slot.control
        if kind == "that":
            inner = self.clause(depth + 1).tokens()
            tokens = ([Token("that", "IN")] if self.chance(0.7) else []) + inner
        elif kind == "inf":
            tokens = self.infinitive(frame.fillers[role], depth)
        elif kind == "tough":
            controller = frame.fillers[role]
            target = subject.kind
            plan = self.plan(
                lambda p: p.kinds() == [target] and not p.complements[0].prep and p.subject.kind == "person",
                depth + 1,
                passive=0,
            )
            token = Token(plan.lemma, "VB")
            self.frame(plan, token).add(plan.complements[0].role, controller)
            tokens = [Token("to", "TO"), token]
        else:
            tokens = self.np(kind, depth=depth + (1 if slot.prep else 0), avoid=subject)
            if slot.prep:
                tokens = [preposition(slot.prep)] + tokens
        frame.add(slot.role, tokens)
        return tokens

    def finish(self, plan, frame, subject, depth, adjuncts=()):
        """The phrases after the verb: complements, then adjuncts. A long object may come later."""
        parts = [(slot, self.fill(slot, frame, depth, subject)) for slot in plan.complements]
        if (
            len(parts) > 1
            and not plan.passive
            and not parts[0][0].prep
            and parts[1][0].prep
            and parts[0][0].kind not in BARE_KINDS
            and len(parts[0][1]) > 3
            and self.chance(0.4)
        ):
            parts[0], parts[1] = parts[1], parts[0]
        phrases = [tokens for _, tokens in parts]
        for role, tokens in adjuncts:
            frame.add(role, tokens)
            # A short manner phrase may also stand between the object and what follows it.
            between = role == "ARGM-MNR" and len(parts) > 1 and parts[1][0].prep and self.chance(0.5)
            phrases.insert(1, tokens) if between else phrases.append(tokens)
        return [token for tokens in phrases for token in tokens]

    # ---- adjuncts ------------------------------------------------------------------------------------------

    def adjuncts(self, plan, depth):
        """The roles of up to two adjuncts, in the order in which they follow the verb."""
        deliberate = plan.subject.role == "ARG0" and plan.subject.kind == "person" and plan.name not in NOT_DELIBERATE
        roles = {s.role for s in plan.complements}
        placed = (
            roles & {"ARGM-LOC", "ARGM-DIR"}
            or plan.name == "put"
            or {"place", "city"} & {*plan.kinds(), plan.subject.kind}
        )
        weights = {
            "ARGM-MNR": 9 * deliberate,
            "ARGM-LOC": 0 if placed or plan.name in STATIVE else 9,
            "ARGM-TMP": 0 if "ARGM-TMP" in roles else 18,
            "ARGM-CAU": 4,
            "ARGM-PRP": 8 * (deliberate and depth == 0),
            "ARGM-ADV": 4 * (depth == 0),
        }
        count = self.weighted({0: 40, 1: 45, 2: 15} if depth == 0 else {0: 78, 1: 22})
        chosen = []
        for _ in range(count):
            role = self.weighted(weights)
            weights[role] = 0
            chosen.append(role)
        return [role for role in weights if role in chosen]

    def adjunct(self, role, tense, depth, controller):
        """The tokens of one adjunct; `controller` fills the unspoken subject of a purpose infinitive."""
        if role == "ARGM-MNR":
            if self.chance(0.65):
                return [Token(self.modifier("manner"), "RB")]
            great = [Token("great", "JJ")] if self.chance(0.4) else []
            return [Token("with", "IN")] + great + self.np("quality", bare=True)[-1:]
        if role == "ARGM-LOC":
            prep, kind = self.rng.choice(
                [
                    ("in", "place"),
                    ("near", "place"),
                    ("at", "org"),
                    ("in", "city"),
                    ("by", "waterside"),
                    ("near", "waterside"),
                    ("behind", "org"),
                ]
            )
            return [Token(prep, "IN")] + self.np(kind, depth=2, bare=True)
        if role == "ARGM-CAU":
            if self.chance(0.6) or depth:
                return say("because_IN of_IN") + self.np(self.one_of("event topic"), depth=1)
            return say("because_IN") + self.clause(depth + 1).tokens()
        if role == "ARGM-PRP":
            order = say("in_IN order_NN") if self.chance(0.25) else []
            return order + self.infinitive(controller, depth)
        if role == "ARGM-ADV":
            word = say(self.one_of("if_IN although_IN unless_IN while_IN"))
            return word + self.clause(depth + 1, tense=embedded(tense)).tokens()
        return self.time(tense, depth)

    def time(self, tense, depth):
        options = ["on/day", "in/month", "event", "hour"] + ["clause"] * 2 * (depth == 0)
        options = [] if tense == "perfect" else options  # "has sung on Monday" would be wrong
        options += {
            "modal": ["tomorrow", "soon", "next"],
            "present": ["often", "every"],
            "perfect": ["recently", "since"],
        }.get(tense, ["yesterday", "last", "ago", "last"])
        choice = self.rng.choice(options)
        if "/" in choice:
            prep, _, kind = choice.partition("/")
            return [Token(prep, "IN"), Token(self.noun(kind)[0], "NNP")]
        if choice == "event":
            return say(self.one_of("after_IN before_IN during_IN")) + self.np("event", depth=1)
        if choice == "hour":
            return say(f"at_IN {self.one_of('noon midnight dawn dusk')}_NN")
        if choice == "clause":
            word = say(self.one_of("when_WRB after_IN before_IN until_IN"))
            return word + self.clause(depth + 1, tense=embedded(tense)).tokens()
        if choice == "ago":
            return say(f"{self.rng.choice(NUMBERS)}_CD {self.one_of('days weeks years')}_NNS ago_RB")
        if choice in ("last", "next", "every"):
            word = self.one_of("week month year spring summer winter night")
            return [Token(choice, "DT" if choice == "every" else "JJ"), Token(word, "NN")]
        if choice == "since":
            return [Token("since", "IN"), Token(self.noun("day")[0], "NNP")]
        return [Token(choice, "NN" if choice in ("yesterday", "tomorrow") else "RB")]

    # ---- clauses -------------------------------------------------------------------------------------------

    def clause(self, depth=0, plan=None, subject=None, tense=None):
        """A statement. At the top it may front an adjunct, a prepositional complement or the object."""
        if plan is None and depth and self.chance(0.1):
            return self.adjectival(depth, tense=tense or "past")
        plan = plan or self.plan(depth=depth)
        tense = tense or (self.tense(plan) if depth == 0 else "past")
        shared = subject is not None
        if not shared:
            subject = self.np(plan.subject.kind, "subj", depth)
        roles = self.adjuncts(plan, depth)
        adverb = None
        if "ARGM-MNR" in roles and self.chance(0.3):
            roles.remove("ARGM-MNR")
            adverb = Token(self.modifier("manner"), "RB")
        group, frame = self.verb_group(plan, subject, tense, adverb=adverb)
        frame.add(plan.subject.role, subject)
        front, comma = [], Token(",", ",")
        if plan.embeds():
            # After an embedded clause an adjunct would read as part of it; so it is fronted, or left out.
            roles = [r for r in roles if r not in ("ARGM-MNR", "ARGM-PRP")][:1] * (depth == 0)
            fronted = roles
        else:
            fronted = [r for r in roles if r not in ("ARGM-MNR",)] if depth == 0 and self.chance(0.35) else []
        if fronted:
            role = self.rng.choice(fronted)
            roles.remove(role)
            front = self.adjunct(role, tense, depth, frame.fillers[plan.subject.role])
            frame.add(role, front)
            front = front + ([comma] if len(front) > 2 or self.chance(0.5) else [])
        elif depth == 0 and not shared and plan.complements and self.chance(0.12):
            front = self.front_complement(plan, frame)
        made = [(role, self.adjunct(role, tense, depth, frame.fillers[plan.subject.role])) for role in roles]
        rest = group + self.finish(plan, frame, subject, depth, made)
        simple = not shared and not subject.pronoun and subject[-1].word != ","
        if depth == 0 and simple and self.chance(0.06):
            return Clause(front, subject, self.parenthesis(frame) + rest)
        return Clause(front, subject, rest)

    def front_complement(self, plan, frame):
        """`To Mary the boy gave the book`, `This vase the boy broke`: a complement in front."""
        slot = self.rng.choice(plan.complements)
        if not slot.nominal() or slot.role.startswith("C-") or slot.prep == "by":
            return []
        if not slot.prep and slot.kind == "person":
            return []
        if not slot.prep and (len(plan.complements) > 1 and not plan.complements[1].prep):
            return []
        plan.complements = [s for s in plan.complements if s is not slot]
        if slot.prep:
            filler = [preposition(slot.prep)] + self.np(slot.kind, depth=2, bare=True)
        else:
            filler = self.np(slot.kind, depth=2, bare=True)
            if filler[0].pos in ("DT", "CD", "PRP$"):  # what is fronted is nearly always definite
                filler[0] = Token(self.one_of("these those" if filler.plural else "this that"), "DT")
        frame.add(slot.role, filler)
        return filler + ([Token(",", ",")] if self.chance(0.35) else [])

    def parenthesis(self, frame):
        """Between subject and verb, set off by commas."""
        if self.chance(0.4):
            role, tokens = "ARGM-DIS", [Token(self.modifier("discourse"), "RB")]
        else:
            role, tokens = "ARGM-TMP", say(self.one_of("after_IN during_IN before_IN"))
            tokens += self.np("event", depth=2, bare=True)
        frame.add(role, tokens)
        return [Token(",", ",")] + tokens + [Token(",", ",")]

    def adjectival(self, depth=0, inverted=False, tense=None):
        """Subject, copula and an adjective that is itself a predicate: `Anna was proud of the poem`."""
        adjectives, lines = self.rng.choice(list(lexicon.ADJECTIVE_CLASSES.values()))
        word = self.predicate(adjectives, key=lambda entry: entry)
        first, *rest = self.slots(lines)
        copula = Plan("be", self.weighted({"be": 8, "remain": 1, "become": 1}), "01", first, [])
        subject = self.np(first.kind, "subj", depth)
        tense = tense or self.rng.choice(["past", "past", "modal", "present"])
        group, be_frame = self.verb_group(copula, subject, tense, inverted)
        be_frame.add("ARG1", subject)
        adjective = Token(word, "JJ")
        frame = Frame(adjective, word)
        self.frames.append(frame)
        frame.add(first.role, subject)
        degree = [Token(self.rng.choice(["very", "rather", "quite"]), "RB")] if self.chance(0.2) else []
        if degree:
            frame.add("ARGM-EXT", degree)
        phrase = degree + [adjective]
        for slot in rest:
            phrase = phrase + self.fill(slot, frame, depth + 1, subject)
        be_frame.add("ARG2", phrase)
        if inverted:
            return Clause(group[:1], subject, group[1:] + phrase)
        if depth == 0 and self.chance(0.25) and not any(s.kind in CONTROL_KINDS for s in rest):
            time = self.time(tense, 1)
            be_frame.add("ARGM-TMP", time)
            return Clause(time + [Token(",", ",")], subject, group + phrase)
        return Clause([], subject, group + phrase)

    # ---- sentences -----------------------------------------------------------------------------------------

    def sentence(self):
        """One sentence as (tokens, frames), or None when it came out too long or could not be completed."""
        self.frames, self.used = [], set()
        kind = self.weighted(SENTENCE_KINDS)
        try:
            tokens = getattr(self, "make_" + kind)()
        except NoPlan:
            return None
        if not MIN_TOKENS <= len(tokens) <= MAX_TOKENS:
            return None
        if len(tokens) > 15 and self.chance(0.35):  # long ones are made more often than wanted
            return None
        spell(tokens)
        place = {id(token): number for number, token in enumerate(tokens)}
        self.frames.sort(key=lambda frame: place[id(frame.token)])
        return tokens, [(f.lemma, f.sense, spans_of(f, place)) for f in self.frames]

    def stop(self, mark="."):
        return [Token(mark, ".")]

    def make_plain(self):
        return self.clause().tokens() + self.stop()

    def make_coordinated(self):
        """Two verb phrases with one subject, both frames pointing at it."""
        plan = self.plan(lambda p: not p.embeds())
        subject = self.np(plan.subject.kind, "subj", 0)
        first = self.clause(0, plan, subject, tense="past")
        second = self.plan(lambda p: p.subject.kind == subject.kind and p.name not in (plan.name, "be"), 1)
        link = say(self.rng.choice(["and_CC", "and_CC", ",_, but_CC", "and_CC then_RB"]))
        group, frame = self.verb_group(second, subject, "past")
        frame.add(second.subject.role, subject)
        return first.tokens() + link + group + self.finish(second, frame, subject, 1) + self.stop()

    def plans_of_one_object(self):
        """Two plans of different verbs that can have the same subject and the same object."""

        def single(plan):
            return (
                plan.subject.role == "ARG0"
                and [slot.prep for slot in plan.complements] == [""]
                and plan.complements[0].nominal()
            )

        one = self.plan(single, passive=0)
        two = self.plan(
            lambda plan: (
                single(plan)
                and plan.lemma != one.lemma
                and plan.subject.kind == one.subject.kind
                and plan.complements[0].kind == one.complements[0].kind
            ),
            passive=0,
        )
        return one, two

    def make_shared_object(self):
        """Two verbs with one subject and one object: `The cook bought and ate the pie`."""
        one, two = self.plans_of_one_object()
        subject = self.np(one.subject.kind, "subj", 0)
        verbs = [finite(plan.lemma, True, subject) for plan in (one, two)]
        obj = self.np(one.complements[0].kind, depth=0, avoid=subject)
        for plan, verb in zip((one, two), verbs):
            frame = self.frame(plan, verb)
            frame.add(plan.subject.role, subject)
            frame.add(plan.complements[0].role, obj)
        link = say(self.one_of("and_CC and_CC or_CC"))
        return subject + verbs[:1] + link + verbs[1:] + obj + self.stop()

    def make_gerund(self):
        """A participle or `before -ing` clause whose unspoken subject is the subject of the main clause."""
        plan = self.plan(
            lambda p: p.subject.kind == "person" and p.subject.role == "ARG0" and p.name != "say" and not p.embeds(),
            depth=1,
            passive=0,
        )
        main = self.plan(lambda p: p.subject.kind == "person" and not p.embeds(), 1)
        subject = self.np("person", "subj", 1)
        clause = self.clause(1, main, subject)
        outer = next(
            f
            for f in self.frames
            if f.lemma == main.lemma and f.args and f.fillers.get(main.subject.role, [("", None)])[0][1] is subject
        )
        word = self.rng.choice(["before", "after", "without", ""])
        token = Token(inflect(plan.lemma, "ing"), "VBG")
        frame = self.frame(plan, token)
        frame.add(plan.subject.role, subject)
        phrase = ([Token(word, "IN")] if word else []) + [token] + self.finish(plan, frame, subject, 1)
        roles = {"before": "ARGM-TMP", "after": "ARGM-TMP", "without": "ARGM-MNR", "": "ARGM-ADV"}
        outer.add(roles[word], phrase)
        if self.chance(0.5):
            return phrase + [Token(",", ",")] + clause.tokens() + self.stop()
        return clause.tokens() + ([] if word else [Token(",", ",")]) + phrase + self.stop()

    def make_reported(self):
        """Speech that the reporting clause follows or splits; the second part of a split one is C-ARG1."""
        inner = self.clause(1)
        verb = self.predicate(lexicon.VERB_CLASSES["say"][0], verb_lemma)
        subject = self.np(self.rng.choice(["person", "person", "org"]), "subj", 2)
        token = finite(verb, True, subject)
        frame = Frame(token, verb)
        self.frames.append(frame)
        frame.add("ARG0", subject)
        flip = not subject.pronoun and self.chance(0.35)
        report = [token] + subject if flip else subject + [token]
        comma = [Token(",", ",")]
        style = self.weighted({"split": 5, "after": 3, "quoted": 3})
        if style == "split":
            frame.add("ARG1", inner.front + inner.subject)
            frame.add("C-ARG1", inner.rest)
            return inner.front + inner.subject + comma + report + [Token(",", ",")] + inner.rest + self.stop()
        frame.add("ARG1", inner.tokens())
        if style == "after":
            return inner.tokens() + comma + report + self.stop()
        return [Token("``", "``")] + inner.tokens() + comma + [Token("''", "''")] + report + self.stop()

    def make_yes_no(self):
        if self.chance(0.3):
            return self.adjectival(inverted=True).tokens() + self.stop("?")
        plan = self.plan(lambda p: p.name != "be", depth=1)
        subject = self.np(plan.subject.kind, "subj", 1)
        group, frame = self.verb_group(plan, subject, self.tense(plan), inverted=True)
        frame.add(plan.subject.role, subject)
        return group[:1] + subject + group[1:] + self.finish(plan, frame, subject, 1) + self.stop("?")

    def make_wh(self):
        """`Who broke the vase ?`, `What did the boy break ?`, `To whom ...`, `Why did ...`."""
        style = self.weighted({"subject": 3, "object": 4, "adverb": 3})
        if style == "subject":
            plan = self.plan(lambda p: p.subject.kind in ("person", "thing", "event", "fragile"), depth=1)
            word = [Token("who" if plan.subject.kind == "person" else "what", "WP")]
            group, frame = self.verb_group(plan, Phrase(word, plan.subject.kind), self.tense(plan))
            frame.add(plan.subject.role, word)
            return word + group + self.finish(plan, frame, None, 1) + self.stop("?")

        def movable(slot):
            return slot.nominal() and not slot.role.startswith("ARGM")

        plan = self.plan(
            lambda p: p.name != "be" and (style == "adverb" or any(map(movable, p.complements))), depth=1, passive=0
        )
        roles = {s.role for s in plan.complements}
        subject = self.np(plan.subject.kind, "subj", 1)
        group, frame = self.verb_group(plan, subject, self.tense(plan), inverted=True)
        frame.add(plan.subject.role, subject)
        if style == "adverb":
            options = {"when": "ARGM-TMP", "why": "ARGM-CAU", "how": "ARGM-MNR", "where": "ARGM-LOC"}
            question = self.rng.choice([w for w, role in options.items() if role not in roles])
            word = [Token(question, "WRB")]
            frame.add(options[question], word)
        else:
            slot = self.rng.choice([s for s in plan.complements if movable(s)])
            plan.complements = [s for s in plan.complements if s is not slot]
            human = slot.kind == "person"
            word = [Token("whom" if human and slot.prep else "who" if human else "what", "WP")]
            if slot.prep:
                word = [Token(slot.prep, "TO" if slot.prep == "to" else "IN")] + word
            frame.add(slot.role, word)
        return word + group[:1] + subject + group[1:] + self.finish(plan, frame, subject, 1) + self.stop("?")

    def make_imperative(self):
        plan = self.plan(
            lambda p: (
                p.subject.role == "ARG0"
                and p.subject.kind == "person"
                and any(s.nominal() for s in p.complements)
                and not any(s.control == "ARG0" for s in p.complements)  # "you" is unspoken
                and p.name not in ("say", "fear", "want", "frighten")
            ),
            depth=1,
            passive=0,
        )
        token = Token(plan.lemma, "VB")
        frame = self.frame(plan, token)
        front = []
        if self.chance(0.2):
            negation = Token("n't", "RB")
            front = [Token("do", "VB"), negation]
            frame.add("ARGM-NEG", [negation])
        elif self.chance(0.3):
            word = Token("please", "UH")
            front = [word]
            frame.add("ARGM-DIS", [word])
        you = Phrase(kind="person", person=2, plural=True)
        timeless = not plan.embeds() and "ARGM-TMP" not in {s.role for s in plan.complements}
        time = [("ARGM-TMP", self.time("modal", 1))] if timeless and self.chance(0.3) else []
        rest = self.finish(plan, frame, you, 1, time)
        return front + [token] + rest + self.stop("!" if self.chance(0.2) else ".")

    def make_adjectival(self):
        return self.adjectival().tokens() + self.stop()

    def make_fragment(self):
        """A title or a greeting: no predicate at all. `{TAG:kind}` in the template is a word to draw."""
        tokens = []
        for item in self.rng.choice(lexicon.FRAGMENTS).split():
            if item.startswith("{"):
                tag, _, kind = item.strip("{}").partition(":")
                if tag == "CD":
                    word = str(self.rng.randrange(2, 99))
                elif tag == "JJ":
                    word = self.modifier(kind)
                else:
                    singular, plural, mass, only = self.noun(kind)
                    tag = "NN" if tag == "NNS" and mass else tag
                    word = plural if tag == "NNS" and not only else singular
                tokens.append(Token(word, tag))
            else:
                word, _, tag = item.partition("_")
                tokens.append(Token(word, tag))
        return tokens


def spans_of(frame, place):
    """The arguments as (start, end, label), both ends included; raises when a frame is not legal."""
    spans = [(place[id(frame.token)], place[id(frame.token)], "V")]
    for label, tokens in frame.args:
        numbers = [place[id(token)] for token in tokens]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            raise AssertionError(f"The {label} of {frame.lemma} is not one stretch of words.")
        spans.append((numbers[0], numbers[-1], label))
    spans.sort()
    if any(left[1] >= right[0] for left, right in zip(spans, spans[1:])):
        raise AssertionError(f"Two arguments of {frame.lemma} overlap.")
    core = [label for _, _, label in spans if label.startswith("ARG") and not label.startswith("ARGM")]
    if len(core) != len(set(core)):
        raise AssertionError(f"A core role of {frame.lemma} occurs twice.")
    return spans
