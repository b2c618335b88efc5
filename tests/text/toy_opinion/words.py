"""The words, written by hand once more, and their forms by rules of thumb."""

from __future__ import annotations

NOUNS = """
boy garçon m, girl fille f, man homme m, woman femme f, father père m, mother mère f, brother frère m,
sister sœur f, king roi m, queen reine f, uncle oncle m, aunt tante f, cat chat m, dog chien m, horse
cheval m, bird oiseau m, rabbit lapin m, wolf loup m, fox renard m, hedgehog hérisson m, cow vache f,
mouse souris f, goat chèvre f, hen poule f, frog grenouille f, water eau f, milk lait m, tea thé m, coffee
café m, juice jus m, lemonade limonade f, apple pomme f, pear poire f, orange orange f, strawberry fraise
f, carrot carotte f, potato pomme-de-terre f, bean haricot m, mushroom champignon m, egg œuf m, cake
gâteau m, bread pain m, cheese fromage m, soup soupe f, ice-cream glace f, book livre m, letter lettre f,
key clé f, box boîte f, bag sac m, bottle bouteille f, cup tasse f, hat chapeau m, dress robe f, flower
fleur f, chair chaise f, table table f, bed lit m, car voiture f, door porte f, window fenêtre f, garden
jardin m, house maison f, kitchen cuisine f, classroom salle-de-classe f, living-room salon m, forest
forêt f, school école f, church église f, village village m, market marché m, river rivière f, tree arbre
m, bridge pont m, hotel hôtel m, castle château m, farm ferme f
"""
MEN, WOMEN = (
    ["boy", "man", "father", "brother", "king", "uncle"],
    ["girl", "woman", "mother", "sister", "queen", "aunt"],
)
ANIMALS = [
    "cat",
    "dog",
    "horse",
    "bird",
    "rabbit",
    "wolf",
    "fox",
    "hedgehog",
    "cow",
    "mouse",
    "goat",
    "hen",
    "frog",
]
PREY = ["rabbit", "mouse", "goat", "hen", "frog"]
OF_THE_LIVING = ["thirsty", "hungry", "sleepy", "tired", "sad", "happy", "rich"]
ASPIRATE = {"hérisson", "hérissons", "haricot", "haricots"}
BEFORE = """
big grand, small petit, little petit, young jeune, old vieux, beautiful beau, handsome beau, good bon, new
nouveau, fat gros
"""
AFTER = """
red rouge, white blanc, black noir, cold froid, hot chaud, ripe mûr, sweet sucré, heavy lourd, empty vide,
clean propre, dirty sale, quiet tranquille, tired fatigué, sad triste, rich riche, happy heureux
"""
FEELINGS = {"soif": "thirsty", "faim": "hungry", "sommeil": "sleepy", "froid": "cold", "chaud": "hot"}
FEMININE = {"blanc": "blanche", "bon": "bonne", "gros": "grosse", "vieux": "vieille", "beau": "belle"}
FEMININE |= {"nouveau": "nouvelle", "heureux": "heureuse"}
SPECIAL = {"vieil": "vieux", "bel": "beau", "nouvel": "nouveau"}  # before a vowel
VERBS = """
see saw voit voient vu, follow followed suit suivent suivi, look-at looked regarde regardent regardé,
look-for looked cherche cherchent cherché, love loved aime aiment aimé, like liked aime aiment aimé,
find found trouve trouvent trouvé, eat ate mange mangent mangé, drink drank boit boivent bu,
buy bought achète achètent acheté, sell sold vend vendent vendu, take took prend prennent pris,
carry carried porte portent porté, wear wore porte portent porté, wash washed lave lavent lavé,
open opened ouvre ouvrent ouvert, close closed ferme ferment fermé, sleep slept dort dorment dormi,
run ran court courent couru, swim swam nage nagent nagé, arrive arrived arrive arrivent arrivé,
fall fell tombe tombent tombé, stay stayed reste restent resté, go went va vont allé
"""
WITH_ÊTRE = {"arrive", "fall", "stay", "go"}
PLACES = {"in": "dans", "on": "sur", "under": "sous", "behind": "derrière", "in-front-of": "devant"}
PLACES |= {"near": "près-de", "with": "avec", "of": "de", "to": "à"}
WHEN = {"yesterday": "hier", "this-morning": "ce-matin", "every-day": "tous-les-jours"}
JOINTS = {
    "and": "et",
    "but": "mais",
    "because": "parce-que",
    "that sees": "qui",
    "that … he sees": "que",
    "?": "?",
}


def rows(text: str) -> list[list[str]]:
    return [row.split() for row in text.replace("\n", " ").split(",")]


def english_plural(word: str) -> str:
    irregular = {"man": "men", "woman": "women", "mouse": "mice", "wolf": "wolves"}
    if word in irregular:
        return irregular[word]
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("x", "ss", "ch", "sh", "o")) else "s")


def french_plural(word: str) -> str:
    head, *rest = word.split("-")
    if head.endswith("al"):
        head = head[:-2] + "aux"
    elif head.endswith("eau"):
        head += "x"
    elif not head.endswith(("s", "x")):
        head += "s"
    return "-".join([head, *rest])


def french_feminine(word: str) -> str:
    return FEMININE.get(word) or (word if word.endswith("e") else word + "e")


def third_person(verb: str) -> str:
    word, *particle = verb.split("-")
    return "-".join([{"go": "goes"}.get(word) or english_plural(word), *particle])


UNCOUNTED = ["water", "milk", "tea", "coffee", "juice", "lemonade", "bread", "cheese", "soup", "ice-cream"]
EN_NOUNS: dict[str, tuple[str, bool]] = {}
FR_NOUNS: dict[str, tuple[str, str, set[bool]]] = {}  # English word, gender, numbers it can have
for english, french, gender in rows(NOUNS):
    EN_NOUNS[english] = (english, False)
    FR_NOUNS[french] = (english, gender, {False})
    if english not in UNCOUNTED:
        EN_NOUNS[english_plural(english)] = (english, True)
        numbers = {True} | ({False} if french_plural(french) == french else set())
        FR_NOUNS[french_plural(french)] = (english, gender, numbers)
FR_ADJECTIVES: dict[str, set[tuple[str, str, bool]]] = {}  # form: what it can be (base, gender, plural)
TO_FRENCH = dict(rows(BEFORE + "," + AFTER))
for base in TO_FRENCH.values():
    for gender, form in (("m", base), ("f", french_feminine(base))):
        FR_ADJECTIVES.setdefault(form, set()).add((base, gender, False))
        FR_ADJECTIVES.setdefault(french_plural(form), set()).add((base, gender, True))
BEFORE_BASES = {french for _, french in rows(BEFORE)}
EN_VERBS, FR_FINITE, FR_PARTICIPLES, VERB_NAMES = {}, {}, {}, {}
for name, past, one, many, participle in rows(VERBS):
    particle = name.partition("-")[2]
    EN_VERBS[name] = (name, "base")
    EN_VERBS[third_person(name)] = (name, "third")
    EN_VERBS[past + ("-" + particle if particle else "")] = (name, "past")
    FR_FINITE[one], FR_FINITE[many] = False, True
    VERB_NAMES.setdefault(one, set()).add(name)
    VERB_NAMES.setdefault(many, set()).add(name)
    for gender, form in (("m", participle), ("f", participle + "e")):
        VERB_NAMES.setdefault(form, set()).add(name)
        VERB_NAMES.setdefault(french_plural(form), set()).add(name)
        FR_PARTICIPLES.setdefault(form, set()).add((gender, False))
        FR_PARTICIPLES.setdefault(french_plural(form), set()).add((gender, True))
COPULAS = {
    "est": ("être", False, "present"),
    "sont": ("être", True, "present"),
    "a": ("avoir", False, "present"),
}
COPULAS |= {
    "ont": ("avoir", True, "present"),
    "était": ("être", False, "past"),
    "étaient": ("être", True, "past"),
}
COPULAS |= {"avait": ("avoir", False, "past"), "avaient": ("avoir", True, "past")}
PHRASES = {
    "ice cream",
    "living room",
    "in front of",
    "this morning",
    "every day",
    "ce matin",
    "tous les jours",
}
PHRASES |= {"living rooms", "pomme de terre", "pommes de terre", "salle de classe", "salles de classe"}
PHRASES |= {"parce que", "parce qu'", "près de", "près d'", "près du", "près des"}
PHRASES |= {verb.replace("-", " ") for verb in EN_VERBS if "-" in verb}
