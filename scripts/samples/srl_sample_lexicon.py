"""Words of the embedded SRL sample: nouns by kind, verb classes with their frames, nominals, adjectives.

Everything here is written by hand for this sample. A noun is `singular` or `singular/plural`; a trailing
`~` marks a mass noun (no article `a`, no plural), a trailing `+` a noun that is only plural.

A frame is a line of slots, the subject first. A slot is `ROLE:kind` for a bare phrase,
`ROLE:prep,prep/kind|kind` for a prepositional one (one of the prepositions, one of the kinds), and a `?`
after the role makes it optional. A number in front weights the frame. Besides the noun kinds, a slot may
hold `time` (a bare stretch of time), `money`, `title` (an office), `adj` (an adjective), `that` (a
clause) or `inf@ROLE` (a to-infinitive whose unspoken subject fills ROLE of the same frame).
"""

NOUNS = {
    "person": """teacher student nurse doctor farmer lawyer clerk baker sailor soldier child/children boy
        girl woman/women man/men king queen singer painter writer driver cook chef waiter guard neighbour
        mayor judge plumber carpenter gardener tailor butcher chemist reporter editor actor dancer pilot
        engineer mechanic librarian professor pupil coach player captain minister priest monk hunter miner
        fisherman/fishermen shepherd merchant banker cashier tourist guest visitor traveller cousin uncle
        aunt brother sister son daughter nephew niece widow grandmother grandfather friend stranger
        thief/thieves detective witness/witnesses officer senator ambassador secretary manager director
        owner tenant landlord apprentice volunteer dentist surgeon patient builder electrician poet
        violinist drummer firefighter mason beekeeper translator""",
    "org": """school museum bank ministry committee council hospital university library company club
        court parliament newspaper factory church union charity agency theatre college orchestra institute
        embassy cooperative foundation publisher airline orphanage academy brewery monastery/monasteries""",
    "place": """garden kitchen station park village harbour forest valley hall cellar attic yard street
        square market office classroom corridor basement tower castle island meadow field lobby barn stable
        cabin workshop bakery cafe hotel airport tunnel cave courtyard balcony stadium warehouse orchard
        vineyard cottage chapel studio camp pier quarry bay""",
    "waterside": "river lake window gate fountain canal pond fireplace bridge well shore stream",
    "thing": """book lamp coat hat umbrella ring watch clock chair carpet blanket pillow camera
        radio/radios guitar violin drum ball doll kite puppet ladder rope candle mirror painting statue coin
        stamp map ticket wallet purse necklace bracelet scarf/scarves glove boot shirt jacket curtain
        bicycle telescope compass lantern bell flag mask medal trophy/trophies toy photograph flute
        basketball helmet tent chessboard saddle anchor wig typewriter harp""",
    "text": """letter report poem story/stories novel essay article contract memo/memos diary/diaries
        speech song recipe script summary/summaries petition invoice brochure manuscript pamphlet postcard
        telegram textbook questionnaire ballad""",
    "food": """cake pie sandwich/sandwiches omelet soup~ stew~ bread~ cheese~ salad pudding pancake apple
        pear cookie pizza dumpling muffin biscuit noodles+ rice~ roast chowder~ tart waffle porridge~
        lasagna""",
    "container": """box/boxes crate basket barrel jar bucket sack suitcase trunk drawer bottle tray pot chest
        cabinet cupboard bag canister hamper pail""",
    "vehicle": """truck cart wagon van ship boat train bus/buses car trailer ferry/ferries tractor barge
        sled jeep canoe lorry/lorries""",
    "surface": """wall table shelf/shelves floor desk bench/benches counter roof door fence sidewalk bed
        windowsill ceiling platform stage staircase doorstep""",
    "stuff": """hay~ sand~ gravel~ flour~ sugar~ paint~ butter~ honey~ mud~ water~ oil~ salt~ glue~ coal~
        wheat~ apples+ bricks+ potatoes+ books+ tools+ clothes+ oranges+ bottles+ boxes+ crates+ barrels+
        sacks+ onions+ stones+ leaves+ cement~ manure~ plaster~ walnuts+ tiles+""",
    "fragile": """vase window mirror plate cup glass/glasses bowl bottle jar egg dish/dishes pot lamp statue
        branch/branches stick chair toy clock bone stone pane goblet pitcher teapot saucer figurine""",
    "opening": """door gate window drawer box/boxes lid curtain trunk cage hatch/hatches suitcase shutter
        safe vault""",
    "rolling": "ball barrel wheel coin stone tire log marble cart bucket hoop wagon boulder",
    "tool": """hammer stone knife/knives stick rock axe/axes wrench/wrenches brick saw spade crowbar
        shovel chisel drill ball branch/branches pole mallet hatchet""",
    "blade": "knife/knives razor saw axe/axes sword cleaver dagger scythe",
    "cuttable": """bread~ cheese~ rope cake cloth~ log meat~ branch/branches apple ribbon onion wire melon
        carrot""",
    "animal": """dog cat horse cow goat sheep/sheep rabbit fox/foxes wolf/wolves bear parrot monkey donkey
        duck rooster otter badger ferret falcon""",
    "swarm": """bees+ ants+ tourists+ shoppers+ flies+ children+ rats+ reporters+ mosquitoes+ pilgrims+
        spiders+ wasps+ beetles+ gulls+""",
    "event": """meeting storm war trip wedding concert flood fire accident strike party/parties lecture
        race election dinner trial festival parade earthquake exam picnic rehearsal funeral
        ceremony/ceremonies auction hurricane eclipse tournament avalanche""",
    "topic": """plan proposal idea budget law tax/taxes policy/policies project rule schedule reform price
        mistake problem risk delay result method theory/theories question scandal rumour treaty/treaties
        merger regulation loan crisis/crises deadline ban""",
    "amount": """price output rent salary/salaries demand traffic~ production~ pressure~ temperature
        profit unemployment~ debt speed revenue tariff""",
    "subject": """history~ chess~ music~ algebra~ grammar~ Latin~ biology~ carpentry~ drawing~ geometry~
        poetry~ Greek~""",
    "quality": """care~ patience~ pride~ joy~ skill~ caution~ difficulty~ anger~ enthusiasm~ ease~ grace~
        effort~ courage~ delight~ reluctance~""",
    "garment": """scarf/scarves coat jacket shirt curtain blanket dress/dresses glove sweater vest costume
        skirt apron quilt sock shawl tablecloth robe""",
    "noise": "bang crash/crashes thud creak click rattle groan",
    "part": "handle lid wheel lock label scratch/scratches crack strap hinge knob rim",
    "month": "January February March April May June July August September October November December",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "city": """Paris Rome Boston Lisbon Cairo Vienna Oslo Dublin Denver Kyoto Madrid Athens Prague Lima
        Geneva Toronto Seville Naples Havana Bergen Krakow Tunis Quito Malmo""",
    "part_of_day": "morning afternoon evening day",
    "first": """Mary John Anna Peter Susan David Laura Thomas Clara Henry Alice Martin Julia Oscar Nina
        Victor Emma Samuel Rosa Felix Helen Simon Greta Hugo Irene Walter Diana Carlos Lucy Arthur Naomi
        Leon Amelia Boris Fatima Edgar Sonia Ivan Priya Omar Yuki Bruno Ingrid Kofi Mabel Rafael Zelda Tariq
        Winifred Dmitri""",
    "last": """Hale Doyle Brandt Keller Moreno Okafor Lind Petrov Tanaka Walsh Novak Farrell Quinn Ibarra
        Sato Whitlock Ferreira Ahlgren Baxter Umar Caldwell Zimmer""",
    "title": """president captain chairman treasurer secretary mayor director spokeswoman chancellor
        conductor ambassador foreman""",
}

ADJECTIVES = {
    "person": """old young tall quiet friendly honest tired rich poor famous clever lazy angry brave
        polite elderly impatient nervous cheerful stubborn shy careless retired eager absent-minded
        generous bald anxious gloomy talkative""",
    "thing": """old new small large heavy red green expensive cheap broken beautiful ugly strange wooden
        dusty empty shiny rusty enormous ancient useful tiny yellow elegant grey purple foreign plain
        crooked delicate""",
    "topic": """new recent bold controversial important early unusual serious difficult simple final
        strange unpopular annual sudden expensive ambitious secret minor lengthy""",
    "result": """false wrong true incomplete excellent ridiculous unfair dangerous late boring accurate
        useless brilliant misleading absurd premature""",
}

ADVERBS = {
    "manner": """quickly slowly carefully quietly suddenly gently angrily proudly secretly gladly nervously
        eagerly politely calmly loudly roughly boldly cleverly patiently silently reluctantly hastily
        bravely neatly awkwardly cheerfully firmly clumsily briskly stealthily graciously""",
    "discourse": "however therefore moreover nevertheless meanwhile instead",
}

# name -> (verbs, frames). "verb.02": a frameset other than 01; "verb=prep": the word that PREP stands for.
VERB_CLASSES = {
    "give": ("give hand lend offer pass show sell award loan grant", [
        "3 ARG0:person|org ARG2:person|org ARG1:thing|text|money",
        "3 ARG0:person|org ARG1:thing|text ARG2:to/person|org",
        "1 ARG0:person ARG1:thing|vehicle"]),
    "send": ("send mail ship forward post bring fax", [
        "3 ARG0:person|org ARG2:person|org ARG1:thing|text",
        "3 ARG0:person|org ARG1:thing|text ARG2:to/person|org",
        "2 ARG0:person|org ARG1:thing|text ARGM-DIR:to/city|place",
        "1 ARG0:person ARG2:person ARG1:text ARGM-DIR:to/org|city"]),
    "dispatch": ("send bring dispatch transport", [
        "4 ARG0:person|org ARG1:person|animal ARGM-DIR:to/org|place|city"]),
    "donate": ("donate return submit contribute surrender deliver transfer", [
        "4 ARG0:person|org ARG1:thing|text|money ARG2:to/person|org", "1 ARG0:person|org ARG1:thing|text"]),
    "bake": ("bake cook prepare fry roast order.03", [
        "2 ARG0:person ARG2:person ARG1:food", "3 ARG0:person ARG1:food ARG2:for/person|org",
        "1 ARG0:person ARG1:food ARGM-PRP:for/event", "1 ARG0:person ARG1:food"]),
    "make": ("knit sew weave mend make design", [
        "2 ARG0:person ARG2:person ARG1:garment", "3 ARG0:person ARG1:garment ARG2:for/person|org",
        "1 ARG0:person ARG1:garment ARGM-PRP:for/event", "1 ARG0:person ARG1:garment"]),
    "buy": ("buy purchase order rent acquire obtain", [
        "2 ARG0:person|org ARG1:thing|vehicle ARG2:from/person|org ARG3?:for/money",
        "2 ARG0:person|org ARG1:thing|vehicle ARG3:for/money",
        "2 ARG0:person ARG1:thing|vehicle ARG4:for/person"]),
    "break": ("break crack shatter smash snap split burst", [
        "3 ARG0:person|animal ARG1:fragile ARG2?:with/tool", "3 ARG2:tool ARG1:fragile",
        "4 ARG1:fragile ARGM-MNR?:with/noise", "1 ARG1:fragile ARGM-LOC:on,in/surface|place"]),
    "open": ("open close shut lock unlock jam", [
        "3 ARG0:person ARG1:opening ARG2?:with/tool", "3 ARG1:opening ARGM-MNR?:with/noise",
        "1 ARG2:tool ARG1:opening"]),
    "roll": ("roll slide spin bounce drop float", [
        "3 ARG0:person|animal ARG1:rolling ARGM-DIR?:into,toward,across/place|waterside",
        "4 ARG1:rolling ARGM-DIR?:into,toward,across/place|waterside"]),
    "change": ("increase improve double change stabilize shrink", [
        "3 ARG0:org|person ARG1:amount ARG2?:by/percent", "4 ARG1:amount ARG2?:by/percent"]),
    "begin": ("begin end continue resume stop start conclude", [
        "3 ARG0:person|org ARG1:event", "4 ARG1:event"]),
    "load": ("load pack stuff cram heap stock", [
        "3 ARG0:person ARG2:stuff|container ARG1:into,onto/vehicle|vehicle|container",
        "4 ARG0:person ARG1:vehicle|container ARG2:with/stuff", "1 ARG0:person ARG1:vehicle|container"]),
    "spray": ("spray smear spread splash sprinkle daub", [
        "3 ARG0:person ARG2:stuff ARG1:on,over,across/surface|vehicle|container",
        "4 ARG0:person ARG1:surface|vehicle|container ARG2:with/stuff"]),
    "put": ("put place set lay hang store hide mount arrange", [
        "5 ARG0:person ARG1:thing|container|text ARG2:on,in,under,near/surface|container|place"]),
    "provide": ("provide supply furnish present entrust", [
        "3 ARG0:person|org ARG2:person|org ARG1:with/stuff|thing",
        "3 ARG0:person|org ARG1:stuff|thing ARG2:to/person|org"]),
    "serve": ("serve feed", [
        "2 ARG0:person ARG2:person|animal ARG1:food", "2 ARG0:person ARG1:food ARG2:to/person|animal",
        "1 ARG0:person ARG2:person|animal", "1 ARG0:person ARG1:food"]),
    "teach": ("teach", [
        "2 ARG0:person ARG2:person ARG1:subject", "2 ARG0:person ARG1:subject ARG2:to/person",
        "1 ARG0:person ARG2:person", "1 ARG0:person ARG1:subject"]),
    "thank": ("thank praise punish criticize reward scold forgive fine", [
        "3 ARG0:person|org ARG1:person ARG2:for/topic|event", "1 ARG0:person|org ARG1:person"]),
    "blame": ("blame", ["3 ARG0:person|org ARG1:person|org ARG2:for/topic|event",
                        "3 ARG0:person|org ARG2:topic|event ARG1:on/person|org"]),
    "clear": ("clear clean drain strip empty", [
        "2 ARG0:person ARG1:surface|place|container ARG2:of/stuff",
        "3 ARG0:person ARG2:stuff ARG1:from/surface|place|container",
        "1 ARG0:person ARG1:surface|place|container"]),
    "steal": ("steal remove borrow snatch take seize", [
        "3 ARG0:person ARG1:thing|text|vehicle ARG2:from/person|org",
        "1 ARG0:person ARG1:thing|vehicle ARGM-LOC:in/place"]),
    "walk": ("walk run hurry travel march crawl wander sail jog ride", [
        "4 ARG0:person ARGM-DIR:to,toward,into/place|org|city", "2 ARG0:person ARGM-TMP:time",
        "1 ARG0:person ARGM-LOC:in/place|city", "1 ARG0:animal ARGM-DIR:into,toward/place|waterside"]),
    "arrive": ("arrive vanish appear disappear fall emerge collapse", [
        "3 ARG1:person|animal|vehicle ARGM-LOC?:in,near/place|city",
        "1 ARG1:thing ARGM-LOC:in,near/place"]),
    "carry": ("carry drag lead guide push pull move haul escort", [
        "3 ARG0:person ARG1:thing|container|animal ARGM-DIR:to,into,toward/place|org",
        "2 ARG0:person ARG1:person ARGM-DIR:to,into/place|org|city",
        "1 ARG0:person ARG1:person|container|animal"]),
    "wait": (
        "wait=for search=for listen=to look=at object=to rely=on depend=on complain=about laugh=at apply=for "
             "respond=to stare=at", [
        "3 ARG0:person ARG1:PREP/person|event|text", "2 ARG0:person ARG1:PREP/topic|event|org"]),
    "work": ("sleep work sing dance wait rest swim stay kneel practise", [
        "3 ARG0:person ARGM-TMP:time", "2 ARG0:person ARGM-TMP:for/time",
        "2 ARG0:person ARGM-LOC:in,near/place|city"]),
    "waste": ("waste spend lose squander", [
        "4 ARG0:person ARG1:time ARGM-LOC?:in/place|city", "2 ARG0:person ARG1:money"]),
    "read": ("read write paint study copy recite", [
        "3 ARG0:person ARG1:text ARGM-TMP?:time", "3 ARG0:person ARGM-TMP:time",
        "1 ARG0:person ARG1:text ARG2:to,for/person"]),
    "eat": ("eat devour finish taste chew", [
        "3 ARG0:person|animal ARG1:food", "1 ARG0:person ARG1:food ARGM-LOC:in/place"]),
    "cut": ("cut slice chop carve trim saw", [
        "3 ARG0:person ARG1:cuttable ARG2:with/blade", "2 ARG0:person ARG1:cuttable",
        "2 ARG2:blade ARG1:cuttable"]),
    "repair": ("repair wash polish inspect lift damage examine test weigh insure", [
        "4 ARG0:person ARG1:thing|vehicle|tool"]),
    "notice": ("see notice watch find photograph remember recognize describe ignore mention", [
        "4 ARG0:person ARG1:person|animal|thing|event"]),
    "visit": ("visit help greet hire arrest meet defend interview rescue follow betray", [
        "4 ARG0:person ARG1:person"]),
    "approve": ("approve reject discuss oppose support accept cancel postpone review publish endorse", [
        "4 ARG0:person|org ARG1:topic|text"]),
    "chase": ("chase bite follow attack scare lick", ["4 ARG0:animal ARG1:person|animal"]),
    "frighten": ("frighten surprise annoy please delight amuse shock bore worry impress disappoint", [
        "4 ARG0:event|topic|animal ARG1:person", "1 ARG0:person ARG1:person ARG2:with/text|topic"]),
    "fear": ("fear love hate admire enjoy like dislike respect trust", [
        "4 ARG0:person ARG1:event|topic|animal", "1 ARG0:person ARG1:person"]),
    "say": ("say claim report announce admit insist declare suggest argue explain", [
        "4 ARG0:person|org ARG1:that"]),
    "tell": ("tell inform remind warn assure notify", [
        "3 ARG0:person ARG2:person|org ARG1:that", "3 ARG0:person ARG2:person|org ARG1:about/topic|event"]),
    "want": ("want try decide hope plan refuse agree manage attempt intend hesitate", [
        "4 ARG0:person ARG1:inf@ARG0"]),
    "persuade": ("persuade ask force urge order encourage advise allow invite compel", [
        "4 ARG0:person|org ARG1:person ARG2:inf@ARG1"]),
    "promise": ("promise vow", [
        "3 ARG0:person ARG2:person ARG1:inf@ARG0", "2 ARG0:person ARG1:inf@ARG0"]),
    "seem": ("seem appear tend happen", ["4 ARG1:person C-ARG1:inf@ARG1"]),
    "swarm": ("swarm teem buzz bustle crawl hum", [
        "3 ARG2:place|city|org ARG1:with/swarm", "3 ARG1:swarm ARG2:in/place|city"]),
    "talk": ("talk speak chat argue complain whisper gossip", [
        "2 ARG0:person ARG2:to,with/person ARG1?:about/topic|event|person",
        "2 ARG0:person ARG1:about/topic|event ARG2?:to,with/person"]),
    "elect": ("elect appoint name nominate", ["4 ARG0:person|org ARG1:person ARG2:title"]),
    "consider": ("consider find.02 call deem", ["4 ARG0:person|org ARG1:topic|text|event ARG2:adj"]),
    "turn": ("turn transform convert develop", [
        "3 ARG0:person|org ARG1:org|place ARG2:into/org|place",
        "3 ARG1:org|place ARG2:into/org|place"]),
    "replace": ("replace=with exchange=for compare=with swap=for confuse=with trade=for", [
        "4 ARG0:person ARG1:thing ARG2:PREP/thing"]),
    "be": ("be become remain", ["2 ARG1:topic|text|event ARG2:adj", "1 ARG1:person ARG2:indef"]),
}

# Nominal predicates: name -> (noun<lemma, frames). The slot 's is a possessor, V the noun; what follows is
# spelt as for verbs. A frame without a possessor starts with "the".
NOMINAL_CLASSES = {
    "decision": (
        "decision<decide opinion<opine complaint<complain warning<warn statement<state argument<argue "
        "speculation~<speculate", ["3 ARG0:'s/person|org V ARG1:about,on/topic|event"]),
    "gift": ("gift<give donation<donate loan<loan sale<sell delivery/deliveries<deliver return<return", [
        "2 ARG0:'s/person|org V ARG1:of/thing|stuff ARG2:to/person|org",
        "1 the V ARG1:of/thing|stuff ARG2:to/person|org"]),
    "removal": ("removal<remove discovery/discoveries<discover rescue<rescue arrest<arrest betrayal<betray "
                "inspection<inspect praise~<praise", [
        "2 ARG0:'s/person V ARG1:of/person|animal", "2 ARG1:'s/person|animal V ARG0:by/person|org",
        "1 the V ARG1:of/person|animal ARG0:by/person|org", "1 ARG1:'s/person V"]),
    "arrival": ("arrival<arrive departure<depart disappearance<disappear death<die collapse<collapse", [
        "3 ARG1:'s/person|animal V", "2 the V ARG1:of/person|animal"]),
    "fear": (
        "fear<fear hatred~<hate knowledge~<know love~<love memory/memories<remember distrust~<distrust", [
        "3 ARG0:'s/person V ARG1:of/event|topic|person"]),
}

# Adjectival predicates, the complement of a copula: name -> (adjectives, frames), subject first.
ADJECTIVE_CLASSES = {
    "aware": ("aware afraid proud fond tired ashamed certain envious", [
        "ARG0:person ARG1:of/topic|event|person"]),
    "angry": ("angry happy worried nervous sad excited upset", ["ARG0:person ARG1:about/topic|event"]),
    "full": ("full empty free", ["ARG1:container|vehicle|place ARG2:of/stuff"]),
    "similar": ("similar identical equal close", ["ARG1:thing|topic ARG2:to/thing|topic"]),
    "ready": ("ready responsible famous grateful suitable", ["ARG0:person|org ARG1:for/event|topic"]),
    "eager": ("eager willing able reluctant anxious", ["ARG0:person ARG1:inf@ARG0"]),
    "hard": ("hard easy impossible difficult", ["ARG1:person|thing|topic|text C-ARG1:tough@ARG1"]),
}

# lemma, past, past participle
IRREGULAR = {verb.split()[0]: verb.split()[1:] for verb in """
    give gave given, lend lent lent, show showed shown, sell sold sold, send sent sent,
    bring brought brought, knit knitted knitted, sew sewed sewn, weave wove woven, make made made,
    buy bought bought, break broke broken, split split split, burst burst burst, shut shut shut,
    slide slid slid, spin spun spun, shrink shrank shrunk, begin began begun, spread spread spread,
    put put put, set set set, lay laid laid, hang hung hung, hide hid hidden, feed fed fed,
    teach taught taught, forgive forgave forgiven, steal stole stolen, take took taken, run ran run,
    ride rode ridden, fall fell fallen, lead led led, sleep slept slept, sing sang sung,
    swim swam swum, kneel knelt knelt, spend spent spent, lose lost lost, read read read,
    write wrote written, eat ate eaten, cut cut cut, saw sawed sawn, see saw seen, find found found,
    meet met met, bite bit bitten, say said said, tell told told, speak spoke spoken, be was been,
    become became become""".split(",")}

# Verbs that double their last letter before -ed and -ing.
DOUBLING = """submit ship transfer snap stop cram drop chop trim admit plan jog drag split shut spin begin
        travel compel cancel put set run swim cut knit hum chat swap strip jam""".split()

# Sentences without a predicate: {TAG:kind} is a word to draw, word_TAG a fixed one.
FRAGMENTS = [
    "Good_JJ {NN:part_of_day} ,_, {NNP:first} !_.",
    "Chapter_NN {CD:number} :_: The_DT {JJ:thing} {NN:thing}",
    "The_DT {JJ:person} {NN:person} of_IN {NNP:city}",
    "No_DT {NNS:stuff} ,_, no_DT {NN:food} ._.",
    "{NNP:city} ,_, {NNP:month} {CD:number}",
    "What_WDT a_DT {JJ:thing} {NN:thing} !_.",
    "Not_RB the_DT {NN:event} again_RB ,_, {NNP:first} ._.",
    "Yes_UH ,_, {NNP:first} ,_, on_IN {NNP:day} ._.",
    "Only_RB {CD:number} {NNS:swarm} for_IN the_DT {NN:person} ._.",
    "The_DT {NN:person} 's_POS {JJ:thing} {NN:thing}",
    "a_DT {JJ:topic} {NN:topic} for_IN {NNP:city}",
    "No_DT {NN:event} in_IN {NNP:month} ._.",
    "{NNP:first} {NNP:last} ,_, {NN:person} ,_, {NNP:city}",
    "So_RB many_JJ {NNS:swarm} in_IN one_CD {NN:place} !_.",
]
