"""Imports that worked in an older version of the course, but no longer do.

    >>> import course_lib.lessons
    Traceback (most recent call last):
    ModuleNotFoundError: course_lib.lessons is not part of this version of the course. ...

A notebook that a learner copied and filled in keeps its old import lines. When one of them fails, Python's
own message would say what is missing, but not what to do (`advise`, `refuse`).

A function in a learner's `my_road.py` must keep working. Its imports are redirected when it is loaded:

    >>> import ast
    >>> tree = redirect_imports("from course_lib.text.toy.read import translations_of", "my_road.py")
    >>> ast.unparse(tree)
    'from lessons.l04_encoder_decoder.read import translations_of'

If you move or rename something that a lesson imports, add a line to one of the first two tables, and if you
remove it, to the third.
"""

from __future__ import annotations

import ast
import sys

WHAT_TO_DO = (
    "{} is not part of this version of the course. A notebook that imports it is from an older version; open "
    "the current one from `notebooks/` instead. Your own functions and your progress are not affected."
)

MOVED_MODULES = {  # version 0.1, before each lesson had a folder of its own
    "course_lib.bench.cost": "lessons.l17_what_it_costs.cost",
    "course_lib.bench.timing": "lessons.l17_what_it_costs.timing",
    "course_lib.explore.museum": "lessons.l18_the_museum.museum",
    "course_lib.explore.pronoun": "lessons.l09_self_attention.pronoun",
    "course_lib.explore.typed_sentence": "lessons.l16_decoding.typed_sentence",
    "course_lib.layers.linear_attention": "lessons.l17_what_it_costs.linear_attention",
    "course_lib.layers.restricted": "lessons.l17_what_it_costs.restricted",
    "course_lib.lessons.by_parts": "lessons.l14_the_transformer.by_parts",
    "course_lib.lessons.interventions": "lessons.l09_self_attention.interventions",
    "course_lib.lessons.live_training": "lessons.l15_training_a_translator.live_training",
    "course_lib.lessons.recompute": "lessons.l16_decoding.recompute",
    "course_lib.lessons.scripted": "lessons.l04_encoder_decoder.scripted",
    "course_lib.recorded": "course_lib.results",
    "course_lib.teaching.own_code.own_functions": "course_lib.teaching.own_code.kept_functions",
    "course_lib.teaching.own_code.road_file": "course_lib.teaching.own_code.kept_file",
    "course_lib.text.merges": "lessons.l15_training_a_translator.merges",
    "course_lib.text.tasks": "lessons.l03_lstm_and_gru.tasks",
    "course_lib.text.toy.read": "lessons.l04_encoder_decoder.read",
    "course_lib.training.by_hand": "lessons.l15_training_a_translator.by_hand",
    "course_lib.training.corpora": "course_lib.training.data",
    "course_lib.training.pronouns": "tools.pronouns",
    "course_lib.training.train": "course_lib.training.loop",
    "course_lib.translation.evaluate": "course_lib.translation.evaluation",
    "course_lib.translation.inside": "lessons.l08_query_key_value.score_spread",
    "course_lib.translation.perplexity": "tools.perplexity",
    "course_lib.translation.sample": "tools.sample",
    "course_lib.translation.translate": "course_lib.translation.pipeline",
}
MOVED_NAMES = {  # names that have another name, or another place than the rest of their module
    "course_lib.layers.block.Weights": "course_lib.layers.block.AttentionWeights",
    "course_lib.explore.AttentionStepper": "lessons.l06_bahdanau_attention.AttentionStepper",
    "course_lib.explore.BeamTree": "lessons.l16_decoding.BeamTree",
    "course_lib.explore.ClockHands": "lessons.l11_positions.ClockHands",
    "course_lib.explore.CloseAWord": "lessons.l09_self_attention.CloseAWord",
    "course_lib.explore.CostExplorer": "lessons.l17_what_it_costs.CostExplorer",
    "course_lib.explore.GateMixer": "lessons.l03_lstm_and_gru.GateMixer",
    "course_lib.explore.GradientTelephone": "lessons.l02_recurrent_networks.GradientTelephone",
    "course_lib.explore.HeadSwitches": "lessons.l12_many_heads.HeadSwitches",
    "course_lib.explore.Leaderboard": "lessons.l18_the_museum.Leaderboard",
    "course_lib.explore.LiveTranslator": "lessons.l16_decoding.LiveTranslator",
    "course_lib.explore.LossFloor": "lessons.l15_training_a_translator.LossFloor",
    "course_lib.explore.MaskPainter": "lessons.l10_masks.MaskPainter",
    "course_lib.explore.PathRace": "lessons.l05_distance_between_words.PathRace",
    "course_lib.explore.SaturationLab": "lessons.l08_query_key_value.SaturationLab",
    "course_lib.explore.ScoreZoo": "lessons.l07_score_functions.ScoreZoo",
    "course_lib.explore.SoftDictionary": "lessons.l08_query_key_value.SoftDictionary",
    "course_lib.explore.SoftmaxDial": "lessons.l00_start_here.SoftmaxDial",
    "course_lib.explore.WhoAttends": "lessons.l08_query_key_value.WhoAttends",
    "course_lib.explore.WindowLab": "lessons.l07_score_functions.WindowLab",
    "course_lib.explore.WordByWord": "lessons.l01_guessing_the_next_word.WordByWord",
    "course_lib.lessons.claim.by_length": "lessons.l19_your_own_claim.by_length",
    "course_lib.lessons.claim.concerns": "lessons.l19_your_own_claim.concerns",
    "course_lib.lessons.claim.even": "lessons.l19_your_own_claim.even",
    "course_lib.lessons.claim.kept_run": "lessons.l19_your_own_claim.recorded_run",
    "course_lib.lessons.claim.lost": "lessons.l19_your_own_claim.points_lost",
    "course_lib.lessons.claim.make_system": "lessons.l19_your_own_claim.make_system",
    "course_lib.lessons.claim.mirror": "lessons.l19_your_own_claim.mirror",
    "course_lib.lessons.claim.small_world": "lessons.l19_your_own_claim.small_world",
    "course_lib.lessons.claim.split_sizes": "lessons.l19_your_own_claim.split_sizes",
    "course_lib.lessons.claim.trial": "lessons.l19_your_own_claim.run_trial",
    "course_lib.lessons.claim_book.claim_report": "lessons.l19_your_own_claim.claim_report",
    "course_lib.lessons.claim_book.try_claim": "lessons.l19_your_own_claim.try_claim",
    "course_lib.lessons.claim_book.write_down": "lessons.l19_your_own_claim.write_down",
    "course_lib.lessons.interventions.equal_weights": "lessons.l09_self_attention.uniform_attention",
    "course_lib.lessons.interventions.speak": "lessons.l09_self_attention.decode_states",
    "course_lib.lessons.interventions.taken_apart": "lessons.l09_self_attention.take_apart",
    "course_lib.lessons.interventions.translate_alone": "lessons.l09_self_attention.translate_isolated",
    "course_lib.lessons.small_run.EOS": "course_lib.text.EOS",
    "course_lib.lessons.small_run.HEALTHY": "lessons.l15_training_a_translator.HEALTHY",
    "course_lib.lessons.small_run.Habits": "lessons.l15_training_a_translator.TrainingSettings",
    "course_lib.lessons.small_run.PATIENTS": "lessons.l15_training_a_translator.FAULTY_RUNS",
    "course_lib.lessons.small_run.SmallRun": "lessons.l15_training_a_translator.TranslatorRun",
    "course_lib.lessons.small_run.short_data": "lessons.l15_training_a_translator.short_data",
    "course_lib.lessons.sound.faults": "lessons.l19_your_own_claim.faults",
    "lessons.l09_self_attention.equal_weights": "lessons.l09_self_attention.uniform_attention",
    "lessons.l09_self_attention.listen": "lessons.l09_self_attention.masked_translation",
    "lessons.l09_self_attention.translate_alone": "lessons.l09_self_attention.translate_isolated",
    "course_lib.recorded.number": "course_lib.results.value_at",
    "course_lib.recorded.recorded": "course_lib.results.mean_over_seeds",
    "course_lib.explore.pronoun.ATTENTIONS": "lessons.l09_self_attention.HEADS",
    "course_lib.explore.pronoun.listen": "lessons.l09_self_attention.masked_translation",
    "course_lib.teaching.contents.road_map": "course_lib.teaching.road_map",
    "course_lib.teaching.own_code.own_functions.called": "course_lib.teaching.count_own_calls",
    "course_lib.teaching.own_code.road_file.road": "course_lib.teaching.list_own_functions",
    "course_lib.teaching.recorded": "course_lib.results.mean_over_seeds",
    "course_lib.text.toy.splits.SIZES_OF_TESTS": "course_lib.text.TEST_SIZES",
    "course_lib.training.corpora.load_data": "tools.corpora.load_data",
    "course_lib.training.corpora.read_corpus": "tools.corpora.read_corpus",
    "course_lib.translation.translate.plainly": "course_lib.translation.clean_text",
}
REMOVED_NAMES = frozenset(  # names that have no successor
    {
        "course_lib.explore.HeadCount",
        "course_lib.explore.OneVectorSuitcase",
        "course_lib.explore.RateDial",
        "course_lib.explore.ParameterLedger",
        "course_lib.explore.PathPast",
        "course_lib.explore.ThreeUses",
        "course_lib.explore.WhichMean",
        "lessons.l04_encoder_decoder.OneVectorSuitcase",
        "lessons.l13_the_block.PathPast",
        "lessons.l13_the_block.WhichMean",
        "lessons.l14_the_transformer.ParameterLedger",
        "lessons.l14_the_transformer.ThreeUses",
        "lessons.l09_self_attention.listen_alone",
        "lessons.l15_training_a_translator.RateDial",
        "lessons.l15_training_a_translator.SmallRun",
        "lessons.l12_many_heads.HeadCount",
    }
)
RENAMED = {"may_look": "mask", "mask": "mask_"}  # lessons 10 to 17 call the learner's functions with `mask=`


# ---- notebooks: say what to do


class Advice:
    """The last finder that Python asks for a module, after all others have failed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.startswith("course_lib."):
            raise ModuleNotFoundError(WHAT_TO_DO.format(name), name=name)


def advise() -> None:
    """From now on, say what to do when a module of the course isn't found."""
    if not any(isinstance(finder, Advice) for finder in sys.meta_path):
        sys.meta_path.append(Advice())


def refuse(module: str, name: str) -> None:
    """Raise what a module's `__getattr__` raises for a name that it doesn't have.

    For a name that it had in an older version, an ImportError that says what to do: with an AttributeError,
    `from module import name` would show Python's own message.
    """
    if f"{module}.{name}" in {*MOVED_NAMES, *REMOVED_NAMES}:
        raise ImportError(WHAT_TO_DO.format(f"`{name}` of {module}"), name=name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


# ---- my_road.py: redirect the imports


def redirect_imports(source: str, filename: str) -> ast.Module:
    """The syntax tree of a block of `my_road.py`, with its imports redirected to the current locations."""
    tree = _Redirection().visit(ast.parse(source, filename))
    return ast.fix_missing_locations(_Renaming().visit(tree) if "may_look" in source else tree)


class _Renaming(ast.NodeTransformer):
    """Rename the parameter and its uses; what the block itself calls `mask` gets an underscore."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = RENAMED.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = RENAMED.get(node.arg, node.arg)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        node.arg = RENAMED.get(node.arg, node.arg)
        return self.generic_visit(node)


class _Redirection(ast.NodeTransformer):
    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            if alias.asname:  # without a name of its own, the code says the whole old path
                alias.name = MOVED_MODULES.get(alias.name, alias.name)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.ImportFrom]:
        imports = []
        for alias in node.names:
            module, name = (node.module, alias.name) if node.level else _find_today(node.module, alias.name)
            asname = alias.asname or (alias.name if name != alias.name else None)
            statement = ast.ImportFrom(module, [ast.alias(name, asname)], node.level)
            imports.append(ast.copy_location(statement, node))
        return imports


def _find_today(module: str, name: str) -> tuple[str, str]:
    """Where this version has what `from module import name` imported."""
    path = f"{module}.{name}"
    if path in MOVED_NAMES or path in MOVED_MODULES:
        module, _, name = (MOVED_NAMES.get(path) or MOVED_MODULES[path]).rpartition(".")
        return module, name
    return MOVED_MODULES.get(module, module), name
