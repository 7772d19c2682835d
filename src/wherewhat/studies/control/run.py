"""`wherewhat reproduce control`: does each frequency band matter in the heads where it should, beyond controls?"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import product

from torch import nn

from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, wrap_module
from wherewhat.capture.outputs.language_model import body, generate_texts, load_language_model
from wherewhat.capture.tokens.encode import OWN, EncodedTexts
from wherewhat.editing.abilities import ability_tests
from wherewhat.errors import UserError
from wherewhat.formatting import count
from wherewhat.profiling.describe import model_section, texts_section
from wherewhat.profiling.inputs import encode_texts
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.studies.control import interventions
from wherewhat.studies.control.claims import claims, comparisons
from wherewhat.studies.control.heads import SCORES, HeadFindings, read_heads, with_redrawn_weights
from wherewhat.studies.control.settings import CONTROLS, FEWEST, NEAR, SCALES, SIDES, ControlSettings, band
from wherewhat.studies.engine.results import Row, table_of
from wherewhat.studies.engine.study import ModelStudy, Request, StudyResult

GENERATED = 64  # texts that a model generates at most
UNPUBLISHED = "Apart from the first claim nothing of this was published, so there are no published numbers to match."
PAPER_SCALE = "There is no paper to follow, so this scale is `small` with all texts."
IMPURE = "Heads were selected by rank: too few of one kind have more than half of their variance there."
NOT_CORRECTED = (
    "Intervals resample texts; those of the excess over controls are Student's, over texts and draws. Each is a 95 % "
    "interval without a correction for multiple comparisons, and treats heads and draws as independent, although heads "
    "of one layer and overlapping draws are not. The causal verdicts rest on {count} comparisons; where there is no "
    "effect, about one in forty would look clear by chance."
)
FEW_COPIES = (
    "The model copies hardly any random token exactly, so copying is judged by induction: by how many nats per token "
    "repeated random tokens are easier to predict than new ones."
)
GENERATED_NOTE = (
    "No texts were given, so the model generated them; on these, the rise of the loss estimates the Kullback-Leibler "
    "divergence of the changed model from the original one."
)


def measure(request: Request) -> StudyResult:
    """Drop and unrotate fast and slow bands in positional and in symbolic heads, and compare with matched controls."""
    settings, model, seed = request.of(SCALES), request.model, request.seed
    settings = settings if request.seeds is None else replace(settings, controls=request.seeds)
    if isinstance(model, str):
        model = load_language_model(model, request.loading or LoadSettings())
    model = wrap_module(model) if isinstance(model, nn.Module) else model
    layers = survey(model.module)
    pairs = _rotated_pairs(model, layers)
    encoded, source, text_notes = _texts(model, request, settings)
    reading = ProfileSettings(seed=seed, scores=SCORES, untrained=False)
    own = profile(body(model), encoded, settings=reading, on_step=request.step)
    redrawn = profile(with_redrawn_weights(body(model), seed=seed), encoded, settings=reading, on_step=request.step)
    heads = read_heads(own, redrawn, pairs, settings, seed=seed)
    selection, settings = heads.selection, replace(settings, shares=heads.sizes)
    tests = ability_tests(model, encoded, random=settings.random, half=settings.half, seed=seed)
    setup = interventions.InterventionSetup(model, layers, tests, heads.norms)
    cells = setup.measure_cells(selection, settings, request.step)
    copying = interventions.copying_measure(cells[0].before, settings.copies)
    notes = [UNPUBLISHED, *[PAPER_SCALE] * (request.scale == "paper"), *[IMPURE] * (not selection.pure)]
    notes += dict.fromkeys(note for cell in cells for note in _control_notes(cell))  # once for both operations
    notes += [NOT_CORRECTED.format(count=comparisons(copying) * len(cells) // 4)]
    notes += [FEW_COPIES] * (copying == "induction") + list(text_notes)
    return StudyResult(
        result=table_of(rows_of(heads, cells)).rows,
        claims=claims(heads, cells, copying),
        settings={**asdict(settings), "near": NEAR, "fewest": FEWEST, "seed": seed, "heads": selection.rule},
        notes=notes,
        about={
            "model": model_section(model, layers=heads.table["layer"].n_unique(), heads=heads.table.height),
            "texts": texts_section(model, encoded, source),
            "chosen": {kind: list(names) for kind, names in selection.heads.items()},
            "rule": selection.rule,
            "copying": copying,
        },
    )


def _rotated_pairs(model: LoadedModel, layers: Sequence[Layer]) -> dict[int, int]:
    """The number of rotated pairs by layer, without layers that have none; a model with too few is refused."""
    pairs = {layer.number: len(layer.theta_F) for layer in layers if layer.theta_F is not None}
    fewest = min(pairs.values(), default=0)
    if fewest < 2:
        none = "no rotary frequencies, so there are no bands to compare; name a model with rotary positions"
        single = "1 rotary frequency per head; a fast and a slow band need at least 2, so name another model"
        raise UserError(f"{model.id} has {single if fewest else none}")
    return pairs


def _texts(model: LoadedModel, request: Request, settings: ControlSettings) -> tuple[EncodedTexts, str, Sequence[str]]:
    """Texts, their source, and notes: given texts, those of a net's own task, or texts that the model generates."""
    tokens = min(settings.max_tokens, model.context or settings.max_tokens)
    if request.texts is not None:
        wanted = ProfileSettings(max_texts=settings.max_texts, max_tokens=tokens, seed=request.seed)
        encoded = encode_texts(model, request.texts, wanted)
        if encoded.texts < 2:
            raise UserError("there is one text, and intervals resample texts; give --text FILE with at least two")
        return encoded, request.source, encoded.notes
    if model.task is not None or model.corpus is not None:
        return encode_texts(model, None, ProfileSettings(max_texts=settings.answers, seed=request.seed)), OWN, []
    generated = generate_texts(model, min(settings.max_texts, GENERATED), tokens, seed=request.seed)
    return EncodedTexts.of(generated), "written by the model", [GENERATED_NOTE]


def _control_notes(cell: interventions.CellResult) -> Iterator[str]:
    """Which controls of a cell have unequal norms, are too few, or differ in their number of pairs."""
    target = f"the {SIDES[cell.side]} band ({cell.share:g}) of {cell.kind} heads"
    for control, drawn in cell.controls.items():
        ratio, pairs = drawn[0][0].norm / cell.mask.norm, sorted(mask.pairs for mask, _ in drawn)
        if cell.norm_match(control) != interventions.EQUAL:
            yield f"No {control} have the norm of {target}: the nearest has {ratio:.2f} times its norm."
        elif len(drawn) < FEWEST:
            few = count(len(drawn), "draw")
            yield f"For {target}, only {few} of {control} had an equal norm, too few for a verdict."
        elif {pairs[0], pairs[-1]} != {cell.mask.pairs}:
            changed = f"{pairs[0]} to " * (pairs[0] < pairs[-1]) + count(pairs[-1], "pair")
            yield f"To match the norm of {target}, {control} change {changed} instead of {cell.mask.pairs}."


def rows_of(heads: HeadFindings, cells: Sequence[interventions.CellResult]) -> Iterator[Row]:
    """The result table; in parts about interventions `subject` is a kind of heads, `item` an operation and a band.

    `before`: the measures of the unchanged model. `heads`: what each head was selected as, and its scores.
    `correlation` and, for redrawn weights, `unlearnt`: of `item` and `measure`. `cells`: changes of the measures.
    `random bands`, `random heads`: those of every draw, numbered in `at` from the nearest in norm. `above ...`: the
    cell's change minus that of its controls of equal norm or, where `equal` is 0, of all its controls.
    """
    before, seed = cells[0].before, cells[0].seed
    start = {measure: interventions.level(before, measure) for measure in before}
    for measure in start:
        yield "before", "", "", None, None, measure, *interventions.contrast([(1, before)], measure, seed=seed).numbers
    scores = (*SCORES, *(band(side, heads.sizes[0]) for side in SIDES))
    kinds = {name: kind for kind, names in heads.selection.heads.items() for name in names}
    for head, score in product(heads.table.iter_rows(named=True), scores):
        if (value := head.get(score)) is not None:
            yield "heads", kinds.get(head["name"], "other"), head["name"], None, None, score, value, None, None
    for part, rhos in (("correlation", heads.trained), ("unlearnt", heads.redrawn)):
        yield from ((part, points, x, None, None, y, *rho.numbers) for (points, x, y), rho in rhos.items())
    for cell, measure in product(cells, start):
        yield "cells", cell.kind, cell.item, None, None, measure, *cell.change(measure).numbers
    for cell in cells:
        yield "cells", cell.kind, cell.item, None, None, "norm", cell.mask.norm, None, None
        yield "cells", cell.kind, cell.item, None, None, "pairs", float(cell.mask.pairs), None, None
    for cell, control in product(cells, CONTROLS):
        for at, (mask, ability) in enumerate(cell.controls[control]):
            values = {measure: interventions.level(ability, measure) - value for measure, value in start.items()}
            values |= {"norm": mask.norm, "ratio": mask.norm / cell.mask.norm, "pairs": mask.pairs}
            for measure, value in values.items():
                yield control, cell.kind, cell.item, float(at), seed, measure, value, None, None
    for cell, control in product(cells, CONTROLS):
        place = (f"above {control}", cell.kind, cell.item, None, None)
        for measure in start:
            yield *place, measure, *interventions.as_harm(cell.excess(control, measure), measure).numbers
        yield *place, "equal", float(cell.norm_match(control) == interventions.EQUAL), None, None


STUDY = ModelStudy(
    name="control",
    about="In a real model: what changes when positional or symbolic heads lose fast or slow frequencies?",
    paper="ours, after arXiv 2511.11579",
    scales=SCALES,
    takes=("--model", "--text", "--dataset"),
    measure=measure,
)
