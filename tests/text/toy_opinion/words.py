"""The words, written by hand once more, and their forms by rules of thumb."""

from __future__ import annotations

NOUNS = {
    "man": "boy garçon m, man homme m, father père m, brother frère m, king roi m, uncle oncle m",
    "woman": "girl fille f, woman femme f, mother mère f, sister sœur f, queen reine f, aunt tante f",
    "animal": """
    cat chat m, dog chien m, horse cheval m, bird oiseau m, rabbit lapin m, wolf loup m, fox renard m,
    hedgehog hérisson m, cow vache f, mouse souris f, goat chèvre f, hen poule f, frog grenouille f
    """,
    "drink": "water eau f, milk lait m, tea thé m, coffee café m, juice jus m, lemonade limonade f",
    "food": """
    apple pomme f, pear poire f, orange orange f, carrot carotte f, potato pomme-de-terre f, bean haricot m,
    mushroom champignon m, egg œuf m, cake gâteau m, bread pain m, cheese fromage m, soup soupe f, ice-cream
    glace f
    """,
    "thing": """
    book livre m, letter lettre f, key clé f, box boîte f, bag sac m, bottle bouteille f, cup tasse f, hat
    chapeau m, dress robe f, flower fleur f, chair chaise f, table table f, bed lit m, car voiture f, door
    porte f, window fenêtre f
    """,
    "place": """
    garden jardin m, house maison f, kitchen cuisine f, classroom salle-de-classe f, living-room salon m,
    forest forêt f, school école f, church église f, village village m, market marché m, river rivière f,
    tree arbre m, bridge pont m, hotel hôtel m, castle château m, farm ferme f
    """,
}
UNCOUNTED = ["water", "milk", "tea", "coffee", "juice", "lemonade", "bread", "cheese", "soup", "ice-cream"]
FURNITURE, BUILDINGS = ["chair", "table", "bed"], ["house", "school", "church", "hotel", "castle", "farm"]
ASPIRATE = {"hérisson", "hérissons", "haricot", "haricots"}
BEFORE = """
big grand, small petit, little petit, young jeune, old vieux, beautiful beau, good bon, new nouveau, fat gros
"""
AFTER = """
red rouge, white blanc, black noir, cold froid, hot chaud, ripe mûr, sweet sucré, heavy lourd, empty vide,
clean propre, dirty sale, quiet tranquille, shady ombragé, tired fatigué, sad triste, rich riche,
happy heureux
"""
FEELINGS = {"soif": "thirsty", "faim": "hungry", "sommeil": "sleepy", "froid": "cold", "chaud": "hot"}
FEMININE = {"blanc": "blanche", "bon": "bonne", "gros": "grosse", "vieux": "vieille", "beau": "belle"}
FEMININE |= {"nouveau": "nouvelle", "heureux": "heureuse"}
SPECIAL = {"vieil": "vieux", "bel": "beau", "nouvel": "nouveau"}  # before a vowel
VERBS = """
see saw voit voient vu, follow followed suit suivent suivi, look-at looked regarde regardent regardé,
look-for looked cherche cherchent cherché, love loved aime aiment -, like liked aime aiment -,
find found trouve trouvent trouvé, eat ate mange mangent mangé, drink drank boit boivent bu,
buy bought achète achètent acheté, sell sold vend vendent vendu, take took prend prennent pris,
carry carried porte portent porté, wear wore porte portent -, wash washed lave lavent lavé,
open opened ouvre ouvrent ouvert, close closed ferme ferment fermé, sleep slept dort dorment dormi,
run ran court courent couru, swim swam nage nagent nagé, arrive arrived arrive arrivent arrivé,
fall fell tombe tombent tombé, stay stayed reste restent resté, go went va vont allé
"""  # without a participle: what lasts, whose past is an imparfait
WITH_ÊTRE = {"arrive", "fall", "stay", "go"}
ALONE = {"sleep", "run", "swim", *WITH_ÊTRE}  # without an object
PLACES = {"in": "dans", "on": "sur", "under": "sous", "behind": "derrière", "in-front-of": "devant"}
PLACES |= {"near": "près-de", "with": "avec", "of": "de", "to": "à", "at": "à"}
WHEN = {"yesterday": "hier", "this-morning": "ce-matin", "every-day": "tous-les-jours"}
JOINTS = {"and": "et", "but": "mais", "because": "parce-que", "that sees": "qui", "that … he sees": "que"}
JOINTS |= {"?": "?"}
PHRASES = """
ice cream, living room, living rooms, in front of, this morning, every day, ce matin, tous les jours,
pomme de terre, pommes de terre, salle de classe, salles de classe, parce que, parce qu',
près de, près d', près du, près des
"""


def rows(text: str) -> list[list[str]]:
    return [row.split() for row in text.split(",")]


def english_plural(word: str) -> str:
    irregular = {"man": "men", "woman": "women", "mouse": "mice", "wolf": "wolves"}
    if word in irregular:
        return irregular[word]
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "sh", "ch", "o")) else "s")


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
    return "-".join([english_plural(word), *particle])


KIND: dict[str, str] = {}  # of an English noun
GENDER: dict[str, str] = {}
EN_NOUNS: dict[str, tuple[str, bool]] = {}
FR_NOUNS: dict[str, tuple[str, str, set[bool]]] = {}  # English word, gender, numbers it can have
for kind, text in NOUNS.items():
    for english, french, gender in rows(text):
        KIND[english], GENDER[english] = kind, gender
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
EN_VERBS: dict[str, tuple[str, str]] = {}
FR_FINITE: dict[str, tuple[bool, bool]] = {}  # form: whether it is plural, whether it is past
FR_PARTICIPLES: dict[str, set[tuple[str, bool]]] = {}
VERB_NAMES: dict[str, set[str]] = {}  # what a French form can mean
for name, past, one, many, participle in rows(VERBS):
    word, _, particle = name.partition("-")
    EN_VERBS[name] = (name, "base")
    EN_VERBS[third_person(name)] = (name, "third")
    EN_VERBS["-".join(filter(None, (past, particle)))] = (name, "past")
    forms = {one: (False, False), many: (True, False)}
    if participle == "-":
        forms |= {one[:-1] + "ait": (False, True), one[:-1] + "aient": (True, True)}
    else:
        for gender, form in (("m", participle), ("f", participle + "e")):
            for number, said in ((False, form), (True, french_plural(form))):
                FR_PARTICIPLES.setdefault(said, set()).add((gender, number))
                VERB_NAMES.setdefault(said, set()).add(name)
    FR_FINITE |= forms
    for form in forms:
        VERB_NAMES.setdefault(form, set()).add(name)
COPULAS = {
    form: (verb, plural, past)
    for verb, forms in (("être", "est sont était étaient"), ("avoir", "a ont avait avaient"))
    for form, (plural, past) in zip(
        forms.split(), [(False, False), (True, False), (False, True), (True, True)], strict=True
    )
}
SET_PHRASES = {" ".join(row) for row in rows(PHRASES)} | {v.replace("-", " ") for v in EN_VERBS if "-" in v}
