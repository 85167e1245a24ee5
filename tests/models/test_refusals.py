"""Inputs that models and trainings refuse: one row for each, with the argument and the code of the error."""

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
    MODELS,
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
from tests.data.common import generator
from tests.models.samples import LABELS, SMALL_TEXT, SMALL_VAE, TEXTS, Stored, halves, small
from tests.refusals import refused

NAN, INF = math.nan, math.inf
BITS = torch.tensor([0, 1])

block = BlockSpec.from_dict
DOMAIN = {"shape": (3, 16, 16), "classes": 4, "domains": 3}
erm, irm, dann, nvae, diva = (partial(kind, **DOMAIN) for kind in (ERM, IRM, DANN, NVAE, DIVA))
augmented = partial(AugmentedDANN, **DOMAIN)
flat = partial(ERM, shape=(6,), classes=3, domains=2, network={"width": 4})
GOOD = DomainData(torch.zeros(12, 6), torch.arange(12) % 3, torch.arange(12) // 6)
UNKNOWN = DomainData(torch.zeros(12, 6), [-1] * 12, torch.arange(12) // 6)
STEP = Batch(torch.zeros(24, 6), torch.arange(24) % 3, torch.arange(24) % 2)
fit = partial(fit_domain, flat(), generator=generator())
data = {"x": torch.zeros(2, 3), "y": [0, 1], "d": [0, 1]}


def alternating(**settings):
    return dann(adversary={"method": "alternating"} | settings)


def losses(name, *rows):
    """The losses of a step of the items in these rows; the domain of an item is whether its row is odd."""
    model = MODELS[name](shape=(6,), classes=3, domains=2, network={"width": 4})
    return partial(model.losses, Batch(*(values[list(rows)] for values in STEP)), 0.0, generator())


DOMAIN_MODELS = [
    *((partial(block, {"z_y": bad}), "z_y", "range") for bad in (-1, 1.5, True)),
    (partial(block, {"z_q": 3}), "block", "name"),
    *((partial(block, bad), "blocks", "few") for bad in ({}, {"z_y": None})),
    (partial(ERM, shape=(3,), domains=2), "classes", "type"),
    (partial(erm, shape=(3, 16)), "shape", "shape"),
    (partial(erm, classes=1), "classes", "range"),
    (partial(erm, domains=1), "domains", "range"),
    (partial(erm, blocks={"z_y": 4, "z_d": 4}), "blocks", "invalid"),
    (partial(erm, colour=1), "configuration field", "name"),
    (partial(erm, version=99), "version", "range"),
    (partial(erm, network={"kind": "vit"}), "network.kind", "name"),
    (partial(erm, network={"depht": 3}), "field of network", "name"),
    (partial(erm, shape=(7,), network={"kind": "densenet121"}), "shape", "shape"),
    (partial(erm, optimisation={"learning_rate": 0}), "optimisation.learning_rate", "range"),
    (partial(erm, optimisation={"momentum": 1.5}), "optimisation.momentum", "range"),
    (partial(erm, optimisation={"second_momentum": 1}), "optimisation.second_momentum", "range"),
    (partial(erm, hidden=[0]), "hidden[0]", "range"),
    (partial(irm, penalty="vector"), "penalty", "name"),
    (partial(irm, switch=2), "switch", "range"),
    *((partial(irm, weight=bad), "weight", "range") for bad in (-1.0, NAN)),
    (partial(dann, adversary={"method": "none"}), "adversary.method", "name"),
    (partial(dann, adversary={"learning_rate": 1e-3}), "adversary.learning_rate", "conflict"),
    (partial(alternating, weight_decay=-1), "adversary.weight_decay", "range"),
    (partial(alternating, learning_rate=0), "adversary.learning_rate", "range"),
    *((partial(augmented, blocks={"z_y": 4, bad: 4}), "blocks", "invalid") for bad in ("z_x", "z_dy")),
    (partial(augmented, adversary={"method": "alternating"}), "adversary.method", "invalid"),
    (partial(augmented, decorrelation_form="hsic"), "decorrelation_form", "name"),
    (partial(augmented, decorrelation=1.0, blocks={"z_y": 4, "z_d": 4}), "decorrelation_form", "invalid"),
    (partial(nvae, blocks={"z_y": 4, "z_x": 4}), "blocks", "invalid"),
    (partial(nvae, reconstruction="l2"), "reconstruction", "name"),
    (partial(nvae, l1={"z_q": 1.0}), "block of l1", "name"),
    (partial(nvae, l1_form="item-mean"), "l1_form", "name"),
    (partial(nvae, beta={"z_y": -1.0}), "beta of z_y", "range"),
    (partial(diva, blocks={"z_y": 4, "z_dy": 4, "z_d": 4}), "blocks", "invalid"),
    *((partial(MODELS[name](**DOMAIN), torch.zeros(2, 1, 16, 16)), "x", "shape") for name in MODELS),
    (losses("irm", 0, 2, 1), "a step", "few"),  # one item of a domain
    *((partial(DomainData, **data | {"y": bad}), "y", "shape") for bad in ([0.5, 1.0], [0, 1, 1])),
    (partial(DomainData, **data | {"y": [-2, 0]}), "y", "range"),
    (partial(DomainData, **data | {"d": [-1, 0]}), "d", "range"),
    (partial(DomainData, **data | {"d": [True, False]}), "d", "shape"),
    (partial(DomainData, **data, groups=[1]), "groups", "shape"),
    (partial(accuracies, flat(), UNKNOWN), "data.y", "range"),
    (partial(accuracies, flat(), GOOD, of="domain"), "of", "conflict"),
    (partial(accuracies, flat(), GOOD, of="colour"), "of", "name"),
    (partial(extract_blocks, flat(), STEP.x[:0]), "data", "few"),
    (partial(extract_blocks, flat(), STEP.x, batch=0), "batch", "range"),
    (lambda: flat().blocks(STEP.x)["z_y"].log_density(torch.zeros(24, 32)), "scale", "type"),
    (partial(fit, UNKNOWN, steps=1), "train.y", "range"),
    (partial(fit, DomainData(STEP.x[:3], [0, 1, 2], [0, 1, 2]), steps=1), "train.d", "range"),
    (partial(fit, GOOD, DomainData(STEP.x[:1], [3], [0]), steps=1), "validation['validation'].y", "range"),
    (partial(fit, GOOD, GOOD, steps=1, rule="oracle (test-domain)"), "validation", "conflict"),
    (partial(fit, GOOD, GOOD, steps=1, patience=2), "patience", "conflict"),
    (partial(fit, GOOD, steps=0), "steps", "range"),
    (partial(select_step, [{"step": 1}], "best"), "rule", "name"),
    (partial(select_step, [{"step": 1}], "training-domain-validation"), "curve", "conflict"),
    (partial(select_step, [], "last"), "curve", "conflict"),
]

SQUARES = torch.zeros(81, 1, 16, 16)
vae = partial(VAE, **SMALL_VAE)
MIXED = vae(latents=LatentSpec(2, (3,)))
train_vae = partial(fit_vae, vae(), **{"objective": "vae", "images": SQUARES, "steps": 5, "batch": 16})


def prepared(name, model, **weights):
    return OBJECTIVES[name](**weights).prepare(model, generator())


VAES = [
    *((partial(vae, image_shape=bad), "image_shape", "shape") for bad in ((4, 16, 16), (1, 18, 16))),
    (partial(vae, image_shape=(1, 16)), "image_shape", "range"),
    (partial(vae, channels=()), "channels", "range"),
    (partial(vae, hidden=0), "hidden", "range"),
    *((partial(LatentSpec, bad), "real", "range") for bad in (0, -1)),
    *((partial(LatentSpec, 2, bad), "categorical", "range") for bad in ((3, 1), 3)),
    (partial(LatentSpec, temperature=0.0), "temperature", "range"),
    (partial(encode_all, vae(), SQUARES[:, :, :8]), "images", "shape"),
    (partial(encode_all, vae(), Stored(torch.zeros(2, 3, 16, 16))), "images", "shape"),
    *((partial(encode_all, vae(), SQUARES + bad), "images", "range") for bad in (2.0, NAN)),
    (partial(encode_all, vae(), SQUARES.long() - 1), "images", "range"),
    (partial(encode_all, vae(), Stored(SQUARES + 2)), "images", "range"),
    (partial(encode_all, vae(), SQUARES[:0]), "images", "few"),
    (partial(encode_all, vae(), 3.0), "images", "type"),
    (partial(vae(), SQUARES.byte()), "images", "range"),
    (partial(vae().decode, torch.zeros(2, 5)), "codes", "shape"),
    (partial(traverse, vae(), torch.zeros(5)), "start", "shape"),
    (partial(traverse, vae(), torch.zeros(6), []), "values", "few"),
    *((partial(stratified_log_weights, bad, 10), "batch", "range") for bad in (1, 11)),
    (partial(prepared, "ae", vae()), "model", "type"),
    (partial(prepared, "vae", AutoEncoder((1, 16, 16), 2, channels=(4, 8), hidden=16)), "model", "type"),
    (partial(prepared, "beta-tcvae", MIXED), "model", "invalid"),
    (partial(prepared, "joint-vae", vae()), "model", "invalid"),
    *((partial(prepared, "beta-vae", MIXED, beta=bad), "beta", "range") for bad in (-1.0, NAN)),
    (partial(prepared, "factor-vae", MIXED, gamma=INF), "gamma", "range"),
    (partial(prepared, "factor-vae", MIXED, width=2.5), "width", "range"),
    (partial(prepared, "joint-vae", MIXED, capacity_steps=0), "capacity_steps", "range"),
    (partial(train_vae, objective="tc-vae"), "objective", "name"),
    (partial(train_vae, steps=0), "steps", "range"),
    *((partial(train_vae, batch=bad), "batch", "range") for bad in (1, 82)),
    (partial(train_vae, objective="factor-vae", batch=41), "batch", "range"),  # two batches a step
    *((partial(train_vae, learning_rate=bad), "learning_rate", "range") for bad in (0.0, NAN)),
    (partial(train_vae, every=0), "every", "range"),
    (partial(train_vae, images=torch.zeros(81, 1, 8, 8)), "images", "shape"),
]

FLOWS = (MaskedAutoregressiveFlow, RealNVP)
irevnet = partial(IRevNet, **{"features": 192, "shape": (3, 8, 8), "blocks": (2, 1)})
OTHER_SAMPLES = (torch.zeros(5, 3), torch.zeros(4), torch.zeros(1, 4))


def calibrated(kind):
    return kind(4, 8, statistics="fixed").calibrate


INVERTIBLE = [
    *((partial(kind, 1), "features", "range") for kind in FLOWS),
    *((partial(kind, 4, hidden=0), "hidden", "range") for kind in FLOWS),
    *((partial(kind, 4, blocks=1.5), "blocks", "range") for kind in FLOWS),
    *((partial(kind, statistics="running"), "statistics", "name") for kind in (partial(RealNVP, 4), irevnet)),
    *((partial(irevnet, features=bad), "features", "range") for bad in (193, 0)),
    (partial(irevnet, shape=(3, 8, 12)), "shape", "shape"),
    (partial(irevnet, shape=(3, 8)), "shape", "range"),
    (partial(irevnet, blocks=()), "blocks", "range"),
    (partial(irevnet, blocks=(1, 0)), "blocks[1]", "range"),
    (partial(irevnet, bottleneck=25), "bottleneck", "range"),
    *((partial(kind(4, 8), bad), "samples", "shape") for kind in FLOWS for bad in OTHER_SAMPLES),
    *((partial(calibrated(kind), bad), "samples", "shape") for kind in FLOWS for bad in OTHER_SAMPLES),
    *((partial(calibrated(kind), torch.full((3, 4), NAN)), "samples", "missing") for kind in FLOWS),
]

thin = partial(ResNet, **{"shape": (1, 32, 32), "labels": 2, "depth": 18, "width": 4})
layer = partial(LayerEncoder, thin())


def codes(n, generator):
    return halves(n, generator)[0], torch.zeros(n, dtype=torch.int64)


train_resnet = partial(fit_resnet, halves, (1, 32, 32), generator(), **{"labels": 2, "depth": 18, "width": 4})
RESNETS = [
    (partial(thin, shape=(2, 32, 32)), "shape", "shape"),
    (partial(thin, shape=(1, 32)), "shape", "range"),
    (partial(thin, labels=0), "labels", "range"),
    (partial(thin, labels=17, task="combinations"), "labels", "range"),
    (partial(thin, depth=20), "depth", "name"),
    (partial(thin, width=0), "width", "range"),
    (partial(thin, task="classes"), "task", "name"),
    (partial(layer, "layer9.0"), "layer", "name"),
    (partial(thin(), torch.zeros(3, 1000)), "images", "shape"),
    (partial(fit_resnet, codes, (1, 32, 32), generator(), labels=2, depth=18, width=4), "sample", "shape"),
    (partial(train_resnet, steps=0), "steps", "range"),
]

transformer = partial(small_encoder, **{"texts": TEXTS, "architecture": "bert", "generator": generator()} | SMALL_TEXT)
tuned = partial(fine_tune, **{"texts": TEXTS, "labels": LABELS, "encoder": small(), "generator": generator()})
fit_words = partial(fit_sentence_encoder, ["a", "b"], generator=generator())
CLASSIFIER = SequenceClassifier.of(small(), 2, generator())
train_classifier = partial(ClassifierTraining, CLASSIFIER, TEXTS, generator=generator())
TEXT_MODELS = [
    (partial(transformer, architecture="gpt2"), "architecture", "name"),
    (partial(transformer, architecture="distilbert", pooling="pooler"), "pooling", "type"),
    (partial(transformer, pooling="max"), "pooling", "name"),
    (partial(transformer, hidden=30, heads=4), "hidden", "invalid"),
    *((partial(transformer, **{name: 0}), name, "range") for name in ("layers", "vocabulary")),
    (partial(transformer, max_length=2), "max_length", "range"),
    (partial(transformer, texts=[]), "texts", "few"),
    (partial(small().embed, []), "texts", "few"),
    *((partial(tuned, labels=bad), "labels", "length") for bad in (LABELS.float(), LABELS[:9])),
    (partial(tuned, labels=LABELS * 0), "labels", "constant"),
    (partial(tuned, texts=[], labels=LABELS[:0]), "labels", "constant"),
    *((partial(tuned, **{name: 0}), name, "range") for name in ("epochs", "batch", "learning_rate")),
    (partial(tuned, warm_up=1.0), "warm_up", "range"),
    *((partial(train_classifier, labels=LABELS + bad), "labels", "length") for bad in (1, -1)),
    (partial(SequenceClassifier.of, small(), 1, generator()), "classes", "range"),
    *((partial(SentenceEncoder, bad, 4), "vocabulary", "invalid") for bad in ([], ["a", "a"])),
    *((partial(SentenceEncoder, ["a"], bad), "width", "range") for bad in (0, 1.5)),
    *((partial(SentenceEncoder(["a"]).encode, ["a", bad]), "sentences", "invalid") for bad in ("", "none")),
    *((partial(fit_words, bad), "labels", "length") for bad in (LABELS, BITS / 2)),
    *((partial(fit_words, bad), "labels", "constant") for bad in (BITS * 0, BITS + 1)),
]


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [*DOMAIN_MODELS, *VAES, *INVERTIBLE, *RESNETS, *TEXT_MODELS],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_invalid_input_is_refused(call, argument, code):
    with refused(argument, code):
        call()
