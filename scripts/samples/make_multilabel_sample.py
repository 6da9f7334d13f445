"""Write the embedded multi-label sample: made-up recipes, their words as features, their traits as labels.

    python scripts/samples/make_multilabel_sample.py --out data/multilabel_sample --seed 29

Every recipe starts from a hidden dish that decides most of its labels together. Only noisy words of the dish are
seen, and most words fit several labels. So one label is evidence about the others that the words do not give.
The same seed and sizes always give the same bytes: all randomness comes from `random.Random.random`, which is
the same on every machine and for every version of Python.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for those who load this file by its path

from sample_command import choice, draw_different, write_sample

SPLITS = ("train", "valid", "test")
RELATION = "recipes"

CUISINES = "italian french mexican indian thai japanese moroccan nordic".split()
COURSES = "breakfast starter main dessert beverage".split()
DIETS = "vegetarian meaty seafood".split()
PACES = "quick slow".split()
STYLES = "vegan spicy fiery grilled picnic brothy warming".split()
RARE = "street_food feast brunch lunchbox nightcap".split()
LABELS = CUISINES + COURSES + DIETS + PACES + STYLES + RARE

EXACTLY_ONE = (CUISINES, COURSES, DIETS)
AT_MOST_ONE = (PACES,)
IMPLIES = (("vegan", "vegetarian"), ("fiery", "spicy"), ("nightcap", "beverage"))

# A dish: cuisine | courses | diets | labels it always has | labels that half of its recipes have, all of them
# or none. One course and one diet are drawn; vegan counts as a diet, since it implies vegetarian.
DISHES = """
italian | main | meaty vegetarian | slow | warming
italian | main starter | seafood vegetarian | quick |
italian | starter | vegan vegetarian | grilled | picnic
italian | dessert | vegetarian | |
italian | starter main | vegetarian | brothy slow |
french | main | meaty | slow warming |
french | starter | seafood meaty | | picnic
french | breakfast | vegetarian | quick |
french | dessert | vegetarian | slow |
french | starter | vegetarian | brothy |
mexican | main starter | meaty vegetarian | quick spicy | grilled
mexican | main | meaty | spicy fiery | slow
mexican | breakfast | vegetarian | spicy |
mexican | starter | vegan | quick picnic |
mexican | beverage | vegetarian | | warming
indian | main | vegetarian vegan | slow spicy |
indian | main | meaty | spicy fiery |
indian | starter | vegan | quick spicy |
indian | dessert beverage | vegetarian | slow |
indian | main | seafood meaty | grilled spicy |
thai | main | seafood meaty | spicy fiery | quick
thai | starter main | seafood | brothy spicy |
thai | starter | meaty vegan | grilled | picnic
thai | dessert | vegan | quick |
thai | beverage | vegetarian | quick |
japanese | main starter | seafood | quick | picnic
japanese | main | meaty seafood | brothy slow |
japanese | starter main | meaty seafood | grilled |
japanese | breakfast | seafood | brothy |
japanese | beverage dessert | vegan | warming |
moroccan | main | meaty | slow | warming
moroccan | main | vegan vegetarian | picnic |
moroccan | starter | vegan | brothy spicy |
moroccan | main | meaty seafood | grilled | spicy
moroccan | beverage dessert | vegetarian | |
nordic | breakfast starter | seafood | quick | picnic
nordic | main | meaty | slow warming |
nordic | breakfast | vegetarian | warming |
nordic | dessert | vegetarian | |
nordic | main | seafood | grilled | picnic
"""

# A rare label depends on others: a row that has them all ("/" separates alternatives) gets it with probability
# RARE_ODDS, any other row with RARE_STRAY_ODDS.
RARE_RULES = (
    ("street_food", "mexican/thai/indian starter quick spicy"),
    ("feast", "french/moroccan/nordic main meaty slow"),
    ("brunch", "french/mexican breakfast"),
    ("lunchbox", "picnic vegan"),
    ("nightcap", "beverage slow/warming"),
)
RARE_ODDS = 0.85
RARE_STRAY_ODDS = 0.004
FUSION_ODDS = 0.05  # the cuisine is another one than the dish's
LOOSE_ODDS = 0.02  # for each label of STYLES: it is added to or removed from the dish's labels

# Words that indicate a label; many are listed for several labels, so one word rarely decides anything.
WORDS = {
    "italian": "basil oregano parmesan mozzarella ricotta pasta polenta tomato olive caper garlic prosciutto "
    "pesto balsamic rosemary sage fennel courgette aubergine anchovy pine_nut mascarpone gnocchi",
    "french": "butter cream shallot thyme tarragon chervil dijon baguette brie gruyere wine leek garlic brandy "
    "bay_leaf chive mushroom celeriac puff_pastry camembert rosemary lentil duck",
    "mexican": "tortilla avocado coriander lime jalapeno chipotle black_bean corn tomato cumin onion masa "
    "tomatillo queso pinto_bean cocoa radish squash pepita cinnamon red_pepper oregano",
    "indian": "turmeric cumin coriander cardamom ghee paneer lentil chickpea basmati ginger garlic garam_masala "
    "fenugreek mustard_seed curry_leaf yogurt tamarind spinach clove onion naan coconut mango",
    "thai": "lemongrass galangal fish_sauce coconut lime coriander basil peanut rice_noodle tamarind palm_sugar "
    "ginger shrimp_paste papaya mango jasmine_rice birdseye_chili spring_onion beansprout cashew",
    "japanese": "soy_sauce miso mirin sake nori wasabi tofu sesame ginger dashi soba udon sushi_rice daikon "
    "panko shiitake kombu edamame spring_onion matcha azuki_bean rice_vinegar yuzu",
    "moroccan": "couscous cumin cinnamon preserved_lemon harissa apricot almond chickpea saffron mint date "
    "ras_el_hanout olive coriander aubergine pomegranate orange_blossom turmeric honey fig carrot",
    "nordic": "dill rye beetroot horseradish mustard cream herring lingonberry cardamom potato caraway "
    "crispbread juniper buttermilk cloudberry turnip cabbage barley skyr cucumber chive allspice",
    "breakfast": "egg oat toast jam yogurt banana granola bacon pancake honey muesli marmalade crispbread",
    "starter": "olive radish cucumber cracker dip lettuce rocket lemon beetroot artichoke asparagus blini",
    "main": "rice potato pasta gravy stew casserole onion carrot noodle dumpling bulgur quinoa",
    "dessert": "sugar vanilla chocolate cream icing custard caramel berry pastry almond cinnamon meringue pear",
    "beverage": "ice syrup soda juice tea coffee mint lime milk straw lemon tonic hibiscus",
    "vegetarian": "cheese egg tofu mushroom lentil chickpea spinach paneer halloumi feta ricotta pumpkin",
    "meaty": "chicken beef pork lamb bacon sausage ham duck veal turkey mince gravy stock_cube venison",
    "seafood": "salmon prawn tuna cod mussel squid anchovy herring crab fish_sauce lemon dill mackerel scallop",
    "vegan": "oat_milk tofu tempeh chickpea flaxseed kale cashew seitan soy_milk nutritional_yeast hemp_seed",
    "quick": "minute wok tin instant toss microwave shortcut stir pan sachet leftover",
    "slow": "hour overnight braise simmer marinade oven rest shank low_heat dutch_oven proof",
    "spicy": "chili cayenne harissa pepper_flake jalapeno paprika chipotle ginger pepper red_pepper",
    "fiery": "habanero birdseye_chili scotch_bonnet chili cayenne ghost_pepper vindaloo",
    "grilled": "charcoal skewer smoke grate tongs foil marinade ember char halloumi baste",
    "picnic": "basket wrap napkin sandwich salad lunch_tin blanket cold jar grape",
    "brothy": "broth ladle bowl stock_cube dashi simmer noodle celery bone bouquet_garni",
    "warming": "clove nutmeg stew root blanket cinnamon allspice parsnip chestnut brandy turnip",
    # A rare label has only words that other labels have, too.
    "street_food": "wrap skewer napkin lime foil",
    "feast": "wine shank carrot potato oven",
    "brunch": "toast chive juice honey egg",
    "lunchbox": "lunch_tin wrap grape carrot cold",
    "nightcap": "tea nutmeg milk honey rest",
}
COMMON = """salt black_pepper water oil flour spoon plate pot knife board season chop slice mix pour drain serve
boil fry bake chill sprinkle portion cup handful teaspoon zest fresh dried ripe crisp thin vinegar""".split()

FEWEST_WORDS, MOST_WORDS = 7, 14
COMMON_ODDS = 0.22  # a word that says nothing
STRAY_ODDS = 0.16  # a word of any label, wrong or right
# How often a word is drawn for a rare label and for any other; integers, as sums of floats differ between Python
# versions.
RARE_WEIGHT, WEIGHT = 7, 20


def read_dishes():
    dishes = []
    for line in DISHES.strip().splitlines():
        cuisine, courses, diets, always, perhaps = (part.split() for part in line.split("|"))
        dishes.append((cuisine[0], courses, diets, always, perhaps))
    return dishes


def fits(labels, rule):
    """Whether `labels` has one of every part's alternatives."""
    return all(any(label in labels for label in part.split("/")) for part in rule.split())


def draw_labels(rng, dishes):
    """The labels of one recipe, as a set."""
    cuisine, courses, diets, always, perhaps = choice(rng, dishes)
    if rng.random() < FUSION_ODDS:
        cuisine = choice(rng, [other for other in CUISINES if other != cuisine])
    labels = {cuisine, choice(rng, courses), choice(rng, diets), *always}
    if rng.random() < 0.5:
        labels.update(perhaps)
    labels.update(implied for label, implied in IMPLIES if label in labels)
    for label in STYLES:
        allowed = all(implied in labels for one, implied in IMPLIES if one == label)  # vegan needs vegetarian
        needed = any(label == implied and one in labels for one, implied in IMPLIES)  # fiery needs spicy
        if rng.random() < LOOSE_ODDS and allowed and not needed:
            labels.symmetric_difference_update([label])
    for label, rule in RARE_RULES:
        stray = all(implied in labels for one, implied in IMPLIES if one == label)  # a nightcap needs beverage
        if rng.random() < (RARE_ODDS if fits(labels, rule) else RARE_STRAY_ODDS * stray):
            labels.add(label)
    return labels


def draw_words(rng, labels):
    """The words of one recipe, as a set."""
    speakers = [label for label in LABELS if label in labels]  # in a fixed order: a set has none
    weights = [RARE_WEIGHT if label in RARE else WEIGHT for label in speakers]
    words = set()
    count = FEWEST_WORDS + int(rng.random() * (MOST_WORDS - FEWEST_WORDS + 1))
    while len(words) < count:
        source = rng.random()
        if source < COMMON_ODDS:
            words.add(choice(rng, COMMON))
        elif source < COMMON_ODDS + STRAY_ODDS:
            words.add(choice(rng, WORDS[choice(rng, LABELS)].split()))
        else:
            place = rng.random() * sum(weights)
            for speaker, weight in zip(speakers, weights):
                place -= weight
                if place < 0:
                    break
            words.add(choice(rng, WORDS[speaker].split()))
    return words


def make(seed, sizes):
    """The rows of every split, by name: each a set of labels and a set of words that no other row has."""
    rng = random.Random(seed)
    dishes = read_dishes()

    def draw():
        labels = draw_labels(rng, dishes)
        return labels, draw_words(rng, labels)

    return draw_different(draw, sizes, key=lambda row: frozenset(row[1]), unit="rows")


def vocabulary():
    """Every word that a row may have, each once, sorted."""
    return sorted({word for words in WORDS.values() for word in words.split()}.union(COMMON))


def attributes():
    """Labels and words in one alphabetical order, so that only the XML tells which are which."""
    return sorted([*LABELS, *vocabulary()])


def render(rows):
    """The ARFF text of a split: sparse rows, `{place 1,...}` with places in order."""
    names = attributes()
    places = {name: place for place, name in enumerate(names)}
    lines = [f"@relation {RELATION}", ""]
    lines += [f"@attribute {name} {{0,1}}" for name in names]
    lines += ["", "@data"]
    for labels, words in rows:
        present = sorted(places[name] for name in labels | words)
        lines.append("{" + ",".join(f"{place} 1" for place in present) + "}")
    return "\n".join(lines) + "\n"


def render_xml():
    """The label names in Mulan's XML, in the order of the groups above."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<labels xmlns="http://mulan.sourceforge.net/labels">']
    lines += [f'  <label name="{label}"></label>' for label in LABELS]
    return "\n".join(lines + ["</labels>"]) + "\n"


def table(made):
    """A few counts of each split, as lines; the last is how many rows the rarest label has."""
    lines = ["split    rows  words/row  labels/row  label-sets  rarest"]
    for split, rows in made.items():
        words = sum(len(words) for _, words in rows) / len(rows)
        labels = sum(len(labels) for labels, _ in rows) / len(rows)
        sets = len({frozenset(labels) for labels, _ in rows})
        rarest = min(sum(label in labels for labels, _ in rows) for label in LABELS)
        lines.append(f"{split:<6} {len(rows):>6} {words:>10.2f} {labels:>11.2f} {sets:>11} {rarest:>7}")
    return lines


def main(argv=None):
    write_sample(
        argv,
        "Write train, valid and test .arff files of made-up recipes, and labels.xml.",
        out="data/multilabel_sample",
        seed=29,
        sizes=dict(zip(SPLITS, (800, 300, 400))),
        unit="rows",
        make=make,
        files=lambda made: (
            {f"{split}.arff": render(rows) for split, rows in made.items()} | {"labels.xml": render_xml()}
        ),
        table=table,
    )


if __name__ == "__main__":
    main()
