"""The grammar of the embedded sample of trees: how a frame of `srl_sample_lexicon` becomes a tree in Penn's brackets.

`TreeWriter` draws words, frames and noun phrases as the SRL sample's `Writer` does, and writes constituents around
them. Where a phrase could hang in two places, the words decide, and the same words always decide alike:

- a prepositional phrase after an object hangs on the verb where a frame of the verb's class has its preposition with
  its noun, or where it is an adjunct (`in` a place, `with` a quality), and else on the noun (`NOUN_PHRASES`):
  `broke the vase with a hammer`, `broke the vase with a handle`;
- one after a prepositional phrase inside a noun phrase hangs on the inner noun where that takes it, else on the outer;
- a relative clause after such a phrase hangs on the noun that can be the subject of its verb.
"""

import re

import srl_sample_lexicon as lexicon
from srl_sample_grammar import (
    BARE_KINDS,
    MAX_TOKENS,
    MIN_TOKENS,
    PROPER,
    RELATIVE_KINDS,
    NoPlan,
    Phrase,
    Token,
    Writer,
    embedded,
    finite,
    inflect,
    preposition,
    say,
    spell,
)

SENTENCE_KINDS = {
    "plain": 44,
    "embedding": 6,
    "verbs": 8,
    "clauses": 6,
    "reported": 6,
    "yes_no": 5,
    "wh": 7,
    "imperative": 6,
    "adjectival": 9,
    "shared_object": 3,
    "gerund": 5,
    "title": 3,
}
# By the kind of a noun: the prepositions and kinds of what may follow it anywhere, and in a subject alone, where no
# verb stands before.
NOUN_PHRASES = {
    "person": "from/city with/animal with/garment",
    "text": "about/topic about/event from/city",
    "thing": "with/part from/city",
    "topic": "of/org about/event",
    "event": "in/city",
    "amount": "of/org",
    "container": "with/part of/stuff",
    "fragile": "with/part of/person",
    "vehicle": "from/city with/part",
    "surface": "of/place",
    "place": "of/org near/waterside",
    "opening": "of/place",
    "animal": "of/person from/city",
    "garment": "of/person",
    "food": "with/stuff",
}
SUBJECT_PHRASES = {
    "person": "in/place near/waterside",
    "org": "in/city",
    "rolling": "on/place",
    "fragile": "on/surface in/place",
    "animal": "in/place",
    "thing": "on/surface",
}
# Verbs whose two complements are a clause without a verb: `called [the plan absurd]`.
SMALL_CLAUSES = ("elect", "consider")
FUNCTIONS = {"ARGM-TMP": "-TMP", "ARGM-LOC": "-LOC", "ARGM-DIR": "-DIR", "ARGM-MNR": "-MNR", "ARGM-PRP": "-PRP"}


class Node(list):
    """A constituent with what is in it, constituents and tokens; of noun phrases also what agreement needs."""

    def __init__(self, label, children=(), kind="", plural=False, person=3, pronoun=False):
        super().__init__(children)
        self.label, self.kind, self.plural, self.person, self.pronoun = label, kind, plural, person, pronoun

    def tokens(self):
        """The words, without empty elements."""
        for child in self:
            if isinstance(child, Node):
                yield from child.tokens()
            elif child.pos != "-NONE-":
                yield child

    def brackets(self):
        """The tree on one line."""
        inside = (child.brackets() if isinstance(child, Node) else f"({child.pos} {child.word})" for child in self)
        return f"({self.label} {' '.join(inside)})"


def empty(label, word="*"):
    """A constituent without words."""
    return Node(label, [Token(word, "-NONE-")])


def nested(verbs, rest):
    """A verb phrase in the next for each auxiliary of a verb; what follows the verb is in the innermost."""
    if verbs[-1].pos == "RB":  # "was not proud"
        return Node("VP", [*verbs, *rest])
    *auxiliaries, head = verbs
    phrase, negation = Node("VP", [head, *rest]), []
    for token in reversed(auxiliaries):
        if token.pos == "RB":
            negation = [token]
        else:
            phrase, negation = Node("VP", [token, *negation, phrase]), []
    return phrase


def with_function(phrase, function):
    """The phrase, with a tag of its function."""
    phrase.label += function
    return phrase


def frame_phrases(name):
    """The prepositional phrases in the frames of a class of verbs, as pairs of a preposition and a kind of noun."""
    verbs, lines = lexicon.VERB_CLASSES[name]
    own = ",".join(verb.partition("=")[2] for verb in verbs.split())
    return {
        (prep, kind)
        for line in lines
        for preps, kinds in re.findall(r":([\w,]+)/(\S+)", line)
        for prep in preps.replace("PREP", own).split(",")
        for kind in kinds.split("|")
    }


def subject_kinds(name):
    """The kinds of noun that are a subject in the frames of a class of verbs."""
    subjects = (re.search(r"\w+\??:(\S+)", line)[1] for line in lexicon.VERB_CLASSES[name][1])
    return {kind for subject in subjects for kind in subject.split("|")}


class TreeWriter(Writer):
    """Makes the trees of one split."""

    def sentence(self):
        """One sentence as (tokens, tree), or None when it came out too long or could not be completed."""
        self.frames, self.used, self.indices = [], set(), 0
        try:
            tree = getattr(self, "tree_" + self.weighted(SENTENCE_KINDS))()
        except NoPlan:
            return None
        tokens = list(tree.tokens())
        if not MIN_TOKENS <= len(tokens) <= MAX_TOKENS or (len(tokens) > 13 and self.chance(0.5)):
            return None
        spell(tokens)
        return tokens, tree

    def index(self):
        self.indices += 1
        return self.indices

    # ---- noun phrases --------------------------------------------------------------------------------------

    def base(self, kind, case="obj", avoid=None):
        """A noun phrase without what may follow its noun; the phrase of a possessor is inside."""
        words = self.np(kind, case, depth=2, avoid=avoid)
        ends = [number for number, token in enumerate(words, start=1) if token.pos == "POS"]
        inside = [Node("NP", words[: ends[0]]), *words[ends[0] :]] if ends else words
        return Node("NP", inside, words.kind, words.plural, words.person, words.pronoun)

    def noun_phrase(self, kind, case="obj", depth=0, avoid=None, banned=()):
        """A noun phrase, without the phrases in `banned` after its noun: they belong to the verb."""
        phrase = self.base(kind, case, avoid)
        if phrase.pronoun or kind in BARE_KINDS or kind in PROPER or depth > 2:
            return phrase
        roll = self.rng.random()
        if roll < 0.09 and depth < 2:
            return self.coordinated(phrase)
        if phrase[-1].pos == "NNP":
            return self.apposition(phrase) if case == "subj" and depth == 0 and roll > 0.88 else phrase
        if roll < (0.55 if depth < 2 else 0.3):
            return self.with_phrases(phrase, case, depth, banned)
        if roll > 0.87 and kind in RELATIVE_KINDS and depth < 2:
            return self.around(phrase, self.relative_clause(phrase))
        return phrase

    def around(self, phrase, *rest):
        """A noun phrase around another one and what follows that."""
        return Node("NP", [phrase, *rest], phrase.kind, phrase.plural, phrase.person)

    def coordinated(self, phrase):
        other = self.base(phrase.kind)
        link = say(self.one_of("and_CC and_CC or_CC"))
        return phrase if other.pronoun else Node("NP", [phrase, *link, other], phrase.kind, plural=True)

    def apposition(self, phrase):
        title = Node("NP", say(f"the_DT {self.noun('title')[0]}_NN"))
        office = Node("PP", [Token("of", "IN"), self.base("org")])
        return self.around(phrase, Token(",", ","), self.around(title, office), Token(",", ","))

    def with_phrases(self, phrase, case, depth, banned):
        """One prepositional phrase behind the noun, or two, or one and a relative clause."""
        options = NOUN_PHRASES.get(phrase.kind, "").split()
        if case == "subj" and depth == 0:
            options += SUBJECT_PHRASES.get(phrase.kind, "").split()
        options = [option for option in options if not self.is_banned(*option.split("/"), banned)]
        if not options:
            return phrase
        prep, _, kind = self.rng.choice(options).partition("/")
        relative = (
            depth == 0
            and phrase.kind in RELATIVE_KINDS
            and kind in RELATIVE_KINDS
            and kind != phrase.kind
            and self.chance(0.8)
        )
        inner = self.base(kind) if relative else self.noun_phrase(kind, "obj", depth + 1, banned=banned)
        found = [phrase, Node("PP", [Token(prep, "IN"), inner])]
        if relative and not inner.pronoun and inner[-1].pos != "NNP":
            low = self.chance(0.5)
            head, other = (inner, phrase) if low else (phrase, inner)
            clause = self.relative_clause(head, other.kind)
            if low:
                found[1][1] = self.around(inner, clause)
            else:
                found.append(clause)
        elif depth == 0 and len(inner) == len(list(inner.tokens())) and self.chance(0.3):
            # Not what the inner noun would take.
            taken = [option.partition("/")[0] for option in NOUN_PHRASES.get(kind, "").split()] + [prep]
            more = [option for option in options if option.partition("/")[0] not in taken]
            if more:
                prep, _, kind = self.rng.choice(more).partition("/")
                found.append(Node("PP", [Token(prep, "IN"), self.base(kind)]))
        return self.around(*found)

    def is_banned(self, prep, kind, banned):
        """Whether a phrase could have the preposition and noun of one of the banned phrases."""

        def words_of(kind):
            return {word.rstrip("~+") for word in self.words.nouns.get(kind, ())}

        return any(prep == other and words_of(kind) & words_of(of_verb) for other, of_verb in banned)

    def relative_clause(self, head, other=None):
        """A relative clause. With the kind of an `other` noun before it, one whose verb that noun cannot have."""
        kind, human = head.kind, head.kind == "person"
        style = "subject" if other else self.weighted({"subject": 5, "object": 4, "reduced": 3})
        if style == "object":
            return self.object_relative(kind, human)
        plan = self.plan(
            lambda p: (
                p.subject.kind == kind
                and not p.embeds()
                and p.name not in SMALL_CLAUSES
                and other not in subject_kinds(p.name)
                and (style == "subject" or p.passive)
            ),
            2,
            1.0 if style == "reduced" else 0 if other else 0.2,
        )
        if style == "reduced":
            return Node("VP", [Token(inflect(plan.lemma, "en"), "VBN"), empty("NP"), *self.complements(plan, head, 2)])
        word = say(self.one_of("who_WP that_WDT" if human else "which_WDT that_WDT"))
        index = self.index()
        subject = empty("NP-SBJ", f"*T*-{index}")
        verbs = self.verb_phrase(plan, head, "past" if self.chance(0.8) else "present", 2)
        return Node("SBAR", [Node(f"WHNP-{index}", word), Node("S", [subject, verbs])])

    def object_relative(self, kind, human):
        def gap(slot):
            return not slot.prep and slot.kind == kind

        plan = self.plan(
            lambda p: not p.embeds() and p.name not in SMALL_CLAUSES and any(map(gap, p.complements)), 2, passive=0
        )
        index = self.index()
        word = say("whom_WP" if human else "which_WDT")
        if self.chance(0.6):
            word = say(self.one_of("that_WDT 0_-NONE-"))
        subject = with_function(self.base(plan.subject.kind, "subj"), "-SBJ")
        slot = next(filter(gap, plan.complements))
        verbs = self.verb_phrase(plan, subject, "past", 2, gap={slot: empty("NP", f"*T*-{index}")})
        return Node("SBAR", [Node(f"WHNP-{index}", word), Node("S", [subject, verbs])])

    # ---- verb phrases --------------------------------------------------------------------------------------

    def verb_phrase(self, plan, subject, tense, depth, adjuncts=(), gap=None):
        """A finite verb phrase, with its auxiliaries, complements and adjuncts."""
        verbs, _ = self.verb_group(plan, subject, tense)
        return nested(
            verbs, [*self.passive_object(plan, subject), *self.complements(plan, subject, depth, gap), *adjuncts]
        )

    def passive_object(self, plan, subject):
        """The empty object of a passive verb, which has the index of its subject."""
        if not plan.passive or plan.name in SMALL_CLAUSES:
            return []
        found = re.search(r"-\d+$", getattr(subject, "label", ""))
        return [empty("NP", f"*{found[0] if found else ''}")]

    def complements(self, plan, subject, depth, gap=None):
        """The phrases of the verb's frame after the verb; `gap` has the replacements of slots."""
        banned, found = frame_phrases(plan.name), []
        for slot in plan.complements:
            if gap and slot in gap:
                found.append(gap[slot])
            else:
                found.append(self.complement(slot, subject, depth, banned))
        if plan.name in SMALL_CLAUSES:
            place = 0 if plan.passive else 1
            predicate = with_function(found[place], "-PRD")
            small = empty("NP-SBJ") if plan.passive else with_function(found[0], "-SBJ")
            found[: place + 1] = [Node("S", [small, predicate])]
        elif plan.name == "be":
            with_function(found[0], "-PRD")
        return found

    def complement(self, slot, subject, depth, banned):
        if slot.kind == "that":
            word = Token("that", "IN") if self.chance(0.7) else Token("0", "-NONE-")
            return Node("SBAR", [word, self.clause_tree(depth + 1)])
        if slot.kind == "inf":
            return self.infinitive_clause(depth)
        if slot.kind == "tough":
            plan = self.plan(
                lambda p: p.kinds() == [subject.kind] and not p.complements[0].prep and p.subject.kind == "person",
                2,
                passive=0,
            )
            verb = Node("VP", [Token(plan.lemma, "VB"), empty("NP", "*T*")])
            return Node("S", [empty("NP-SBJ"), Node("VP", [Token("to", "TO"), verb])])
        if slot.kind == "adj":
            return Node("ADJP", self.np("adj"))
        function = FUNCTIONS.get(slot.role, "")
        phrase = self.noun_phrase(slot.kind, "obj", min(depth, 1), avoid=subject, banned=banned)
        if not slot.prep:
            return with_function(phrase, function)
        if slot.prep == "by" and slot.role == "ARG0":
            with_function(phrase, "-LGS")
        return Node("PP" + function, [preposition(slot.prep), phrase])

    def infinitive_clause(self, depth):
        """`to` and a verb phrase, without a spoken subject."""
        plan = self.plan(
            lambda p: p.subject.kind == "person" and p.subject.role == "ARG0" and not p.passive and p.name != "say",
            depth + 1,
            passive=0,
        )
        subject = Phrase(kind="person")
        verb = Node("VP", [Token(plan.lemma, "VB"), *self.complements(plan, subject, depth + 1)])
        return Node("S", [empty("NP-SBJ"), Node("VP", [Token("to", "TO"), verb])])

    # ---- adjuncts ------------------------------------------------------------------------------------------

    def adjunct_phrase(self, role, tense, depth):
        if role == "ARGM-MNR":
            if self.chance(0.6):
                return Node("ADVP-MNR", [Token(self.modifier("manner"), "RB")])
            great = [Token("great", "JJ")] if self.chance(0.4) else []
            return Node("PP-MNR", [Token("with", "IN"), Node("NP", great + self.np("quality", bare=True)[-1:])])
        if role == "ARGM-LOC":
            prep, kind = self.rng.choice([("in", "place"), ("near", "place"), ("at", "org"), ("behind", "org")])
            return Node("PP-LOC", [Token(prep, "IN"), self.noun_phrase(kind, depth=1)])
        if role == "ARGM-CAU":
            if self.chance(0.6) or depth:
                cause = self.noun_phrase(self.one_of("event topic"), depth=1)
                return Node("PP-PRP", [*say("because_IN of_IN"), cause])
            return Node("SBAR-PRP", [Token("because", "IN"), self.clause_tree(depth + 1)])
        if role == "ARGM-PRP":
            if self.chance(0.25):
                return Node("SBAR-PRP", [*say("in_IN order_NN"), self.infinitive_clause(depth)])
            return with_function(self.infinitive_clause(depth), "-PRP")
        if role == "ARGM-ADV":
            word = say(self.one_of("if_IN although_IN unless_IN while_IN"))
            return Node("SBAR-ADV", [*word, self.clause_tree(depth + 1, embedded(tense))])
        return self.time_phrase(tense, depth)

    def time_phrase(self, tense, depth):
        options = ["on/day", "in/month", "event"] + ["clause"] * (depth == 0)
        options = [] if tense == "perfect" else options
        options += {
            "modal": ["tomorrow", "next"],
            "present": ["often", "every"],
            "perfect": ["recently", "since/day"],
        }.get(tense, ["yesterday", "last", "ago"])
        choice = self.rng.choice(options)
        if "/" in choice:
            prep, _, kind = choice.partition("/")
            return Node("PP-TMP", [Token(prep, "IN"), self.base(kind)])
        if choice == "event":
            word = say(self.one_of("after_IN before_IN during_IN"))
            return Node("PP-TMP", [*word, self.noun_phrase("event", depth=1)])
        if choice == "clause":
            word = Token(self.one_of("when after before until"), "IN")
            inside = self.clause_tree(depth + 1, embedded(tense))
            if word.word == "when":
                return Node("SBAR-TMP", [Node("WHADVP", [Token("when", "WRB")]), inside])
            return Node("SBAR-TMP", [word, inside])
        if choice == "ago":
            stretch = say(f"{self.one_of('two three four')}_CD {self.one_of('days weeks years')}_NNS")
            return Node("ADVP-TMP", [Node("NP", stretch), Token("ago", "RB")])
        if choice in ("last", "next", "every"):
            tag = "DT" if choice == "every" else "JJ"
            return Node("NP-TMP", [Token(choice, tag), Token(self.one_of("week month year summer winter"), "NN")])
        if choice in ("often", "recently"):
            return Node("ADVP-TMP", [Token(choice, "RB")])
        return Node("NP-TMP", [Token(choice, "NN")])

    # ---- clauses -------------------------------------------------------------------------------------------

    def clause_tree(self, depth=0, tense=None, plan=None):
        """A statement. At the top one of its adjuncts may come first."""
        if plan is None and depth and self.chance(0.1):
            return self.adjectival_tree(depth, tense or "past")
        plan = plan or self.plan(depth=depth)
        tense = tense or (self.tense(plan) if depth == 0 else "past")
        subject = with_function(self.noun_phrase(plan.subject.kind, "subj", depth), "-SBJ")
        if plan.passive:
            with_function(subject, f"-{self.index()}")
        roles, before, adverb = self.adjuncts(plan, depth), [], []
        if plan.embeds():
            # After an embedded clause an adjunct would read as part of it.
            roles = [role for role in roles if role not in ("ARGM-MNR", "ARGM-PRP")][:1] * (depth == 0)
            before = roles
        elif depth == 0 and self.chance(0.35):
            before = [role for role in roles if role != "ARGM-MNR"][:1]
        if "ARGM-MNR" in roles and self.chance(0.5):
            roles.remove("ARGM-MNR")
            adverb = [Node("ADVP-MNR", [Token(self.modifier("manner"), "RB")])]
        front = [self.adjunct_phrase(role, tense, depth) for role in before]
        if front and (len(list(front[0].tokens())) > 2 or self.chance(0.5)):
            front.append(Token(",", ","))
        after = [self.adjunct_phrase(role, tense, depth) for role in roles if role not in before]
        return Node("S", [*front, subject, *adverb, self.verb_phrase(plan, subject, tense, depth, after)])

    def adjectival_tree(self, depth=0, tense=None, inverted=False):
        """Subject, copula and an adjective: `Anna was proud of the poem`."""
        adjectives, lines = self.rng.choice(list(lexicon.ADJECTIVE_CLASSES.values()))
        word = self.predicate(adjectives, key=lambda entry: entry)
        first, *rest = self.slots(lines)
        copula = self.plan(lambda p: p.name == "be", 1)
        banned = {(slot.prep, slot.kind) for slot in rest}
        subject = self.noun_phrase(first.kind, "subj", depth)
        verbs, _ = self.verb_group(copula, subject, tense or self.rng.choice(["past", "past", "modal"]), inverted)
        degree = [Token(self.one_of("very rather quite"), "RB")] if self.chance(0.2) else []
        inside = [self.complement(slot, subject, depth + 1, banned) for slot in rest]
        predicate = Node("ADJP-PRD", [*degree, Token(word, "JJ"), *inside])
        with_function(subject, "-SBJ")
        if inverted:
            rest = [nested(verbs[1:], [predicate])] if verbs[1:] else [predicate]
            return Node("SQ", [verbs[0], subject, *rest])
        return Node("S", [subject, nested(verbs, [predicate])])

    # ---- sentences -----------------------------------------------------------------------------------------

    def stopped(self, tree, mark="."):
        tree.append(Token(mark, "."))
        return tree

    def tree_plain(self):
        return self.stopped(self.clause_tree())

    def tree_embedding(self):
        """A clause inside the verb phrase, such as `said that ...`."""
        return self.stopped(self.clause_tree(plan=self.plan(lambda p: "that" in p.kinds())))

    def tree_verbs(self):
        """Two verb phrases with one subject."""
        one = self.plan(lambda p: not p.embeds() and not p.passive, 1, passive=0)
        two = self.plan(
            lambda p: p.subject.kind == one.subject.kind and p.name not in (one.name, "be") and not p.embeds(),
            1,
            passive=0,
        )
        subject = with_function(self.noun_phrase(one.subject.kind, "subj"), "-SBJ")
        phrases = [self.verb_phrase(plan, subject, "past", 1) for plan in (one, two)]
        link = say(self.rng.choice(["and_CC", "and_CC", ",_, but_CC"]))
        return self.stopped(Node("S", [subject, Node("VP", [phrases[0], *link, phrases[1]])]))

    def tree_clauses(self):
        link = say(self.rng.choice(["and_CC", ",_, and_CC", ",_, but_CC", "or_CC"]))
        return self.stopped(Node("S", [self.clause_tree(1), *link, self.clause_tree(1)]))

    def tree_shared_object(self):
        """Two verbs with one object: `The cook bought and ate the pie`."""
        one, two = self.plans_of_one_object()
        subject = with_function(self.noun_phrase(one.subject.kind, "subj"), "-SBJ")
        verbs = [finite(plan.lemma, True, subject) for plan in (one, two)]
        banned = frame_phrases(one.name) | frame_phrases(two.name)
        shared = self.noun_phrase(one.complements[0].kind, avoid=subject, banned=banned)
        link = say(self.one_of("and_CC and_CC or_CC"))
        return self.stopped(Node("S", [subject, Node("VP", [verbs[0], *link, verbs[1], shared])]))

    def tree_gerund(self):
        """A clause with a participle, before or after the main one."""
        plan = self.plan(
            lambda p: p.subject.kind == "person" and p.subject.role == "ARG0" and p.name != "say" and not p.embeds(),
            1,
            passive=0,
        )
        main = self.plan(lambda p: p.subject.kind == "person" and not p.embeds(), 1, passive=0)
        word = self.rng.choice(["before", "after", "without", ""])
        verb = Node("VP", [Token(inflect(plan.lemma, "ing"), "VBG"), *self.complements(plan, Phrase(), 1)])
        inside = Node("S", [empty("NP-SBJ"), verb])
        if word:
            function = "-MNR" if word == "without" else "-TMP"
            phrase = Node("PP" + function, [Token(word, "IN"), with_function(inside, "-NOM")])
        else:
            phrase = with_function(inside, "-ADV")
        if not word or self.chance(0.5):
            clause = self.clause_tree(1, "past", main)
            clause[:0] = [phrase, Token(",", ",")]
            return self.stopped(clause)
        subject = with_function(self.noun_phrase("person", "subj", 1), "-SBJ")
        return self.stopped(Node("S", [subject, self.verb_phrase(main, subject, "past", 1, [phrase])]))

    def tree_reported(self):
        """Speech, with or without quotes, and who said it."""
        index = self.index()
        inner = with_function(self.clause_tree(1), f"-TPC-{index}")
        verb = self.predicate(lexicon.VERB_CLASSES["say"][0], lambda entry: entry)
        subject = with_function(self.noun_phrase(self.one_of("person person org"), "subj", 2), "-SBJ")
        speech = Node("SBAR", [Token("0", "-NONE-"), empty("S", f"*T*-{index}")])
        said = Node("VP", [finite(verb, True, subject), speech])
        parts = [inner, Token(",", ",")]
        if self.chance(0.5):
            parts = [Token("``", "``"), *parts, Token("''", "''")]
        flip = not subject.pronoun and self.chance(0.4)
        return self.stopped(Node("SINV", [*parts, said, subject]) if flip else Node("S", [*parts, subject, said]))

    def tree_yes_no(self):
        if self.chance(0.3):
            return self.stopped(self.adjectival_tree(inverted=True), "?")
        plan = self.plan(lambda p: p.name != "be" and not p.passive, 1, passive=0)
        return self.stopped(self.inverted(plan), "?")

    def inverted(self, plan, gap=None):
        """A clause that begins with its auxiliary."""
        subject = with_function(self.noun_phrase(plan.subject.kind, "subj", 1), "-SBJ")
        verbs, _ = self.verb_group(plan, subject, self.tense(plan), inverted=True)
        rest = self.complements(plan, subject, 1, gap)
        return Node("SQ", [verbs[0], subject, nested(verbs[1:], rest)])

    def tree_wh(self):
        """`Who broke the vase ?`, `What did the boy break ?`, `To whom ...`, `Why did ...`."""
        style, index = self.weighted({"subject": 3, "object": 4, "adverb": 3}), self.index()
        if style == "subject":
            plan = self.plan(
                lambda p: p.subject.kind in ("person", "thing", "event", "fragile") and not p.passive, 1, passive=0
            )
            word = Node(f"WHNP-{index}", [Token("who" if plan.subject.kind == "person" else "what", "WP")])
            verbs = self.verb_phrase(plan, Phrase(kind=plan.subject.kind), self.tense(plan), 1)
            clause = Node("SQ", [empty("NP-SBJ", f"*T*-{index}"), verbs])
            return self.stopped(Node("SBARQ", [word, clause]), "?")

        def movable(slot):
            return slot.nominal() and not slot.role.startswith("ARGM")

        plan = self.plan(
            lambda p: p.name not in ("be", *SMALL_CLAUSES) and (style == "adverb" or any(map(movable, p.complements))),
            1,
            passive=0,
        )
        if style == "adverb":
            word = Node(f"WHADVP-{index}", [Token(self.one_of("when why how"), "WRB")])
            return self.stopped(Node("SBARQ", [word, self.inverted(plan)]), "?")
        slot = self.rng.choice([slot for slot in plan.complements if movable(slot)])
        human = slot.kind == "person"
        word = Node("WHNP", [Token("whom" if human and slot.prep else "who" if human else "what", "WP")])
        word = Node("WHPP", [preposition(slot.prep), word]) if slot.prep else word
        clause = self.inverted(plan, {slot: empty("PP" if slot.prep else "NP", f"*T*-{index}")})
        return self.stopped(Node("SBARQ", [with_function(word, f"-{index}"), clause]), "?")

    def tree_imperative(self):
        plan = self.plan(
            lambda p: (
                p.subject.role == "ARG0"
                and p.subject.kind == "person"
                and any(slot.nominal() for slot in p.complements)
                and not any(slot.control == "ARG0" for slot in p.complements)
                and p.name not in ("say", "fear", "want", "frighten")
            ),
            1,
            passive=0,
        )
        you = Phrase(kind="person", person=2, plural=True)
        time = [] if plan.embeds() or self.chance(0.7) else [self.time_phrase("modal", 1)]
        verbs = Node("VP", [Token(plan.lemma, "VB"), *self.complements(plan, you, 1), *time])
        front = []
        if self.chance(0.2):
            verbs = Node("VP", [*say("do_VB n't_RB"), verbs])
        elif self.chance(0.3):
            front = [Node("INTJ", [Token("please", "UH")])]
        return self.stopped(Node("S", [*front, empty("NP-SBJ"), verbs]), "!" if self.chance(0.2) else ".")

    def tree_adjectival(self):
        return self.stopped(self.adjectival_tree())

    def tree_title(self):
        """A noun phrase alone."""
        kind = self.one_of("person thing text event topic animal place")
        phrase = self.noun_phrase(kind, "subj")
        if phrase.pronoun:
            raise NoPlan
        return self.stopped(phrase)
