"""Inputs that models and trainings refuse: one row for each, with the argument and the
code of the error.
"""

import math
from functools import partial

import pytest
import torch

from infoscope.models import (
    OBJECTIVES,
    VAE,
    AutoEncoder,
    ClassifierTraining,
    IRevNet,
    LatentSpec,
    LayerEncoder,
    MaskedAutoregressiveFlow,
    RealNVP,
    ResNet,
    SentenceEncoder,
    SequenceClassifier,
    encode_all,
    fine_tune,
    fit_resnet,
    fit_sentence_encoder,
    fit_vae,
    small_encoder,
    traverse,
)
from infoscope.models.domain import (
    DANN,
    DIVA,
    ERM,
    IRM,
    NVAE,
    AugmentedDANN,
    Batch,
    BlockSpec,
    DomainData,
    accuracies,
    extract_blocks,
    fit_domain,
    select_step,
)
from infoscope.models.vae.densities import stratified_log_weights
from tests.data.common import generator, wrong
from tests.models.samples import (
    LABELS,
    SMALL_TEXT,
    SMALL_VAE,
    TEXTS,
    Stored,
    halves,
    small,
)
from tests.refusals import refused

DOMAIN = {"shape": (3, 16, 16), "classes": 4, "domains": 3}
erm = partial(ERM, **DOMAIN)
irm = partial(IRM, **DOMAIN)
dann = partial(DANN, **DOMAIN)
nvae = partial(NVAE, **DOMAIN)
diva = partial(DIVA, **DOMAIN)
augmented = partial(AugmentedDANN, **DOMAIN)


def optimised(**settings):
    return erm(optimisation=settings)


def reversing(**settings):
    return dann(adversary=settings)


def alternating(**settings):
    return reversing(method="alternating", **settings)


def block(**dimensions):
    return BlockSpec.from_dict(dimensions)


CONFIGURATIONS = [
    *wrong(block, "range", z_y=-1),
    (partial(block, z_q=3), "block", "name"),
    (block, "blocks", "few"),
    (partial(ERM, shape=(3,), domains=2), "classes", "type"),
    *wrong(erm, "range", classes=1, domains=1, version=99),
    *wrong(erm, "shape", shape=(3, 16)),
    *wrong(erm, "invalid", blocks={"z_y": 4, "z_d": 4}),
    (partial(erm, hidden=[0]), "hidden[0]", "range"),
    (partial(erm, colour=1), "configuration field", "name"),
    (partial(erm, network={"kind": "vit"}), "network.kind", "name"),
    (partial(erm, network={"depht": 3}), "field of network", "name"),
    (partial(erm, shape=(7,), network={"kind": "resnet18"}), "shape", "shape"),
    *wrong(
        optimised,
        "range",
        "optimisation.",
        learning_rate=0,
        momentum=1.5,
        second_momentum=1,
    ),
    *wrong(irm, "range", switch=2, weight=-1.0),
    *wrong(irm, "name", penalty="vector"),
    *wrong(reversing, "name", "adversary.", method="none"),
    *wrong(reversing, "conflict", "adversary.", learning_rate=1e-3),
    *wrong(alternating, "range", "adversary.", weight_decay=-1, learning_rate=0),
    *wrong(augmented, "invalid", blocks={"z_y": 4, "z_x": 4}),
    *wrong(augmented, "name", decorrelation_form="hsic"),
    (
        partial(augmented, adversary={"method": "alternating"}),
        "adversary.method",
        "invalid",
    ),
    (
        partial(augmented, decorrelation=1.0, blocks={"z_y": 4, "z_d": 4}),
        "decorrelation_form",
        "invalid",
    ),
    *wrong(nvae, "invalid", blocks={"z_y": 4, "z_x": 4}),
    *wrong(nvae, "name", reconstruction="l2", l1_form="item-mean"),
    (partial(nvae, l1={"z_q": 1.0}), "block of l1", "name"),
    (partial(nvae, beta={"z_y": -1.0}), "beta of z_y", "range"),
    *wrong(diva, "invalid", blocks={"z_y": 4, "z_dy": 4, "z_d": 4}),
]

FLAT = ERM(shape=(6,), classes=3, domains=2, network={"width": 4})
X = torch.zeros(12, 6)
D = torch.arange(12) // 6
GOOD = DomainData(X, torch.arange(12) % 3, D)
UNKNOWN = DomainData(X, [-1] * 12, D)
ABOVE_Y = DomainData(X[:1], [3], [0])
ABOVE_D = DomainData(X[:3], [0, 1, 2], [0, 1, 2])
# one item of a domain
LONELY = Batch(X[:3], torch.tensor([0, 2, 1]), torch.tensor([0, 0, 1]))
items = partial(DomainData, **{"x": torch.zeros(2, 3), "y": [0, 1], "d": [0, 1]})
accuracy = partial(accuracies, FLAT, GOOD)
fit = partial(fit_domain, FLAT, **{"train": GOOD, "steps": 1, "generator": generator()})
selected = partial(select_step, [{"step": 1}])
unbiased = IRM(shape=(6,), classes=3, domains=2, network={"width": 4})
no_density = FLAT.blocks(X)["z_y"]

DOMAIN_MODELS = [
    (partial(erm(), X), "x", "shape"),
    (partial(unbiased.losses, LONELY, 0.0, generator()), "a step", "few"),
    *wrong(items, "shape", y=[0, 1, 1], d=[True, False], groups=[1]),
    *wrong(items, "shape", y=[0.5, 1.0]),
    *wrong(items, "range", y=[-2, 0], d=[-1, 0]),
    (partial(accuracies, FLAT, UNKNOWN), "data.y", "range"),
    *wrong(accuracy, "conflict", of="domain"),
    *wrong(accuracy, "name", of="colour"),
    (partial(extract_blocks, FLAT, X[:0]), "data", "few"),
    (partial(extract_blocks, FLAT, X, batch=0), "batch", "range"),
    (partial(no_density.log_density, X), "scale", "type"),
    (partial(fit, train=UNKNOWN), "train.y", "range"),
    (partial(fit, train=ABOVE_D), "train.d", "range"),
    (partial(fit, validation=ABOVE_Y), "validation['validation'].y", "range"),
    (
        partial(fit, validation=GOOD, rule="oracle (test-domain)"),
        "validation",
        "conflict",
    ),
    *wrong(fit, "conflict", patience=2),
    *wrong(fit, "range", steps=0),
    *wrong(selected, "name", rule="best"),
    (partial(selected, "training-domain-validation"), "curve", "conflict"),
    (partial(select_step, [], "last"), "curve", "conflict"),
]

SQUARES = torch.zeros(81, 1, 16, 16)
vae = partial(VAE, **SMALL_VAE)
MODEL = vae()
MIXED = vae(latents=LatentSpec(2, (3,)))
ENCODER = AutoEncoder((1, 16, 16), 2, channels=(4, 8), hidden=16)
encoded = partial(encode_all, MODEL)
train_vae = partial(
    fit_vae, MODEL, **{"objective": "vae", "images": SQUARES, "steps": 5, "batch": 16}
)


def prepared(name, model=MIXED, **weights):
    return OBJECTIVES[name](**weights).prepare(model, generator())


VAES = [
    *wrong(vae, "shape", image_shape=(4, 16, 16)),
    *wrong(vae, "shape", image_shape=(1, 18, 16)),
    *wrong(vae, "range", image_shape=(1, 16), channels=(), hidden=0),
    *wrong(LatentSpec, "range", real=0, categorical=(3, 1), temperature=0.0),
    *wrong(LatentSpec, "range", categorical=3),
    *wrong(encoded, "shape", images=SQUARES[:, :, :8]),
    *wrong(encoded, "shape", images=Stored(torch.zeros(2, 3, 16, 16))),
    *wrong(encoded, "range", images=SQUARES + 2.0),
    *wrong(encoded, "range", images=SQUARES + math.nan),
    *wrong(encoded, "range", images=SQUARES.long() - 1),
    *wrong(encoded, "range", images=Stored(SQUARES + 2)),
    *wrong(encoded, "few", images=SQUARES[:0]),
    *wrong(encoded, "type", images=3.0),
    *wrong(MODEL, "range", images=SQUARES.byte()),
    *wrong(MODEL.decode, "shape", codes=torch.zeros(2, 5)),
    (partial(traverse, MODEL, torch.zeros(5)), "start", "shape"),
    (partial(traverse, MODEL, torch.zeros(6), []), "values", "few"),
    (partial(stratified_log_weights, 1, 10), "batch", "range"),
    (partial(stratified_log_weights, 11, 10), "batch", "range"),
    (partial(prepared, "ae"), "model", "type"),
    (partial(prepared, "vae", ENCODER), "model", "type"),
    (partial(prepared, "beta-tcvae"), "model", "invalid"),
    (partial(prepared, "joint-vae", MODEL), "model", "invalid"),
    *wrong(partial(prepared, "beta-vae"), "range", beta=-1.0),
    *wrong(partial(prepared, "factor-vae"), "range", gamma=-1.0, width=0),
    *wrong(partial(prepared, "joint-vae"), "range", capacity_steps=0),
    *wrong(train_vae, "name", objective="tc-vae"),
    *wrong(train_vae, "range", steps=0, batch=1, learning_rate=0.0, every=0),
    *wrong(train_vae, "range", batch=82),
    # two batches a step
    *wrong(partial(train_vae, objective="factor-vae"), "range", batch=41),
    *wrong(train_vae, "shape", images=torch.zeros(81, 1, 8, 8)),
]

irevnet = partial(IRevNet, **{"features": 192, "shape": (3, 8, 8), "blocks": (2, 1)})
INVERTIBLE = [
    *wrong(irevnet, "name", statistics="running"),
    *wrong(irevnet, "range", features=193, shape=(3, 8), blocks=(), bottleneck=25),
    *wrong(irevnet, "shape", shape=(3, 8, 12)),
    (partial(irevnet, blocks=(1, 0)), "blocks[1]", "range"),
]
for flow in (MaskedAutoregressiveFlow, RealNVP):
    calibrate = flow(4, 8, statistics="fixed").calibrate
    INVERTIBLE += [
        (partial(flow, 1), "features", "range"),
        *wrong(partial(flow, 4), "range", hidden=0, blocks=0),
        *wrong(partial(flow, 4), "name", statistics="running"),
        (partial(flow(4, 8), torch.zeros(5, 3)), "samples", "shape"),
        (partial(flow(4, 8), torch.zeros(1, 4)), "samples", "shape"),
        *wrong(calibrate, "shape", samples=torch.zeros(4)),
        *wrong(calibrate, "missing", samples=torch.full((3, 4), math.nan)),
    ]

thin = partial(ResNet, **{"shape": (1, 32, 32), "labels": 2, "depth": 18, "width": 4})
train_resnet = partial(
    fit_resnet, shape=(1, 32, 32), generator=generator(), labels=2, depth=18, width=4
)


def codes(n, generator):
    return halves(n, generator)[0], torch.zeros(n, dtype=torch.int64)


RESNETS = [
    *wrong(thin, "shape", shape=(2, 32, 32)),
    *wrong(thin, "range", shape=(1, 32), labels=0, width=0),
    (partial(thin, labels=17, task="combinations"), "labels", "range"),
    *wrong(thin, "name", depth=20, task="classes"),
    *wrong(partial(LayerEncoder, thin()), "name", layer="layer9.0"),
    *wrong(thin(), "shape", images=torch.zeros(3, 1000)),
    *wrong(train_resnet, "shape", sample=codes),
    *wrong(partial(train_resnet, halves), "range", steps=0),
]

transformer = partial(
    small_encoder,
    **{"texts": TEXTS, "architecture": "bert", "generator": generator()} | SMALL_TEXT,
)
tuned = partial(
    fine_tune,
    **{"texts": TEXTS, "labels": LABELS, "encoder": small(), "generator": generator()},
)
fit_words = partial(fit_sentence_encoder, ["a", "b"], generator=generator())
CLASSIFIER = SequenceClassifier.of(small(), 2, generator())
train_classifier = partial(ClassifierTraining, CLASSIFIER, TEXTS, generator=generator())
TEXT_MODELS = [
    *wrong(transformer, "name", architecture="gpt2", pooling="max"),
    (
        partial(transformer, architecture="distilbert", pooling="pooler"),
        "pooling",
        "type",
    ),
    *wrong(transformer, "invalid", hidden=31),
    *wrong(transformer, "range", layers=0, vocabulary=0, max_length=2),
    *wrong(transformer, "few", texts=[]),
    *wrong(small().embed, "few", texts=[]),
    *wrong(tuned, "length", labels=LABELS.float()),
    *wrong(tuned, "length", labels=LABELS[:9]),
    *wrong(tuned, "constant", labels=LABELS * 0),
    (partial(tuned, texts=[], labels=LABELS[:0]), "labels", "constant"),
    *wrong(tuned, "range", epochs=0, batch=0, learning_rate=0, warm_up=1.0),
    *wrong(train_classifier, "length", labels=LABELS + 1),
    *wrong(train_classifier, "length", labels=LABELS - 1),
    (partial(SequenceClassifier.of, small(), 1, generator()), "classes", "range"),
    (partial(SentenceEncoder, [], 4), "vocabulary", "invalid"),
    (partial(SentenceEncoder, ["a", "a"], 4), "vocabulary", "invalid"),
    (partial(SentenceEncoder, ["a"], 0), "width", "range"),
    *wrong(SentenceEncoder(["a"]).encode, "invalid", sentences=["a", "none"]),
    *wrong(fit_words, "length", labels=LABELS),
    *wrong(fit_words, "length", labels=torch.tensor([0.0, 0.5])),
    *wrong(fit_words, "constant", labels=torch.tensor([1, 1])),
]


@pytest.mark.parametrize(
    "call, argument, code",
    [*CONFIGURATIONS, *DOMAIN_MODELS, *VAES, *INVERTIBLE, *RESNETS, *TEXT_MODELS],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_invalid_input_is_refused(call, argument, code):
    with refused(argument, code):
        call()
