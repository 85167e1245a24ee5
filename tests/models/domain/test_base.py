"""The domain models' parts: blocks, priors, divergences, penalties, adversaries, and
their way through JSON.
"""

import math

import pytest
import torch
from pytest import approx
from torch.distributions import Categorical, Normal
from torch.nn.functional import cross_entropy, one_hot
from torch.testing import assert_close

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
    invariance_penalty,
)
from infoscope.models.domain.adversarial import (
    covariance_norms,
    mean_squared_correlation,
)
from tests.data.common import generator
from tests.refusals import refused

SETTING = {"shape": (3, 16, 16), "classes": 4, "domains": 3, "network": {"width": 4}}
FLAT = {"shape": (5,), "classes": 4, "domains": 3, "network": {"width": 16}}


def batch(shape=(5,)):
    """Twelve items: one of each of 4 classes in each of 3 domains."""
    number = torch.arange(12)
    x = torch.rand(12, *shape, generator=generator(1))
    return Batch(x, number % 4, number // 4)


def twice(items):
    return Batch(*(torch.cat([values, values]) for values in items))


def flat(kind, **settings):
    return kind(**FLAT | settings, generator=generator())


def flat_nvae(**settings):
    return flat(
        NVAE, **{"blocks": {"z_y": 2, "z_x": 1, "z_dy": 2, "z_d": 2}} | settings
    )


def drawn(model, items, seed=2):
    """The draws of the blocks that `losses` with the same seed makes."""
    shared = generator(seed)
    return {name: block.draw(shared) for name, block in model.blocks(items.x).items()}


def means(model, items):
    return {name: block.mean for name, block in model.blocks(items.x).items()}


def losses(model, items, *player):
    """The terms halfway through a training."""
    return model.losses(items, 0.5, generator(), *player)


def log_ratios(model, items, z):
    """log q(z | x) - log p(z | y, d) by torch's densities, summed over items and
    blocks.
    """
    total = torch.zeros(())
    for name, block in model.blocks(items.x).items():
        prior = model.prior(name, items.y, items.d)
        q = Normal(block.mean, block.scale)
        p = Normal(prior.mean, prior.scale)
        ratio = q.log_prob(z[name]) - p.log_prob(z[name])
        total = total + ratio.sum()
    return total


def close(value, expected, rel=1e-5):
    value = torch.as_tensor(value)
    expected = torch.as_tensor(expected, dtype=torch.float64)
    return value.item() == approx(expected.item(), rel=rel)


def test_blocks_have_consecutive_columns():
    spec = BlockSpec(3, None, 2, 4)
    assert spec.dim == 9
    assert spec.slices == {"z_y": slice(0, 3), "z_dy": slice(3, 5), "z_d": slice(5, 9)}
    assert BlockSpec.from_dict({"z_y": 3, "z_dy": 2, "z_d": 4}) == spec


@pytest.mark.parametrize("name", MODELS)
def test_every_model_answers_from_its_blocks_alone(name):
    model = MODELS[name](**SETTING, generator=generator()).eval()
    x = batch((3, 16, 16)).x
    blocks = model.blocks(x)
    # absent blocks have no entry, not one of zeros
    assert tuple(blocks) == model.blocks_spec.names
    for key, block in blocks.items():
        assert block.mean.shape == (12, getattr(model.blocks_spec, key))
        if name in ("nvae", "diva"):
            assert (block.scale > 0).all()
        else:
            assert block.scale is None
    assert_close(model(x).sum(1), torch.ones(12))
    domains = model.domain_logits(x)
    if name in ("irm", "erm"):
        assert domains is None
    else:
        assert domains.shape == (12, 3)


@pytest.mark.parametrize(
    ("shape", "reconstruction"),
    [((1, 16, 16), "categorical"), ((2, 19, 32), "bernoulli"), ((7,), "squared")],
)
def test_decoders_give_items_of_any_shape(shape, reconstruction):
    setting = SETTING | {"shape": shape, "blocks": {"z_y": 2, "z_d": 2}}
    model = DIVA(**setting, reconstruction=reconstruction)
    x = torch.rand(3, *shape, generator=generator())
    code = torch.ones(3, 2)
    z = {"z_y": code, "z_d": code}
    assert model.decode(z).shape == x.shape
    loss = model.reconstruction(x, z)
    assert loss.shape == (3,)
    assert (loss > 0).all()


def test_categorical_loss_belongs_to_its_own_pixel():
    """Outputs of the decoder [n, 256 * channels, h, w] that put all probability on the
    level of each value have a loss of 0, and 60 nats each for values of another channel
    or place.
    """
    model = DIVA(**SETTING | {"shape": (2, 3, 4)}, blocks={"z_y": 1, "z_d": 1})
    levels = torch.arange(24).view(1, 2, 3, 4) * 11
    certain = one_hot(levels, 256).movedim(-1, 1).float()  # [1, 256, 2, 3, 4]
    model.decoder.forward = lambda codes: 60.0 * certain.flatten(1, 2)
    code = torch.ones(1, 1)
    z = {"z_y": code, "z_d": code}
    x = levels / 255
    loss = model.reconstruction(x, z)
    assert loss.item() == approx(0, abs=1e-4)
    for axis in (1, 2, 3):
        differs = x.flip(axis) != x
        nats = 60 * differs.sum()
        loss = model.reconstruction(x.flip(axis), z)
        assert close(loss, nats, rel=1e-3)
    assert_close(model.decode(z), x)
    with refused("x", "range"):
        model.reconstruction(2 * x, z)


def same_code(codes):
    """Whether each pair of rows is equal, bool [n, n]."""
    is_equal = codes[:, None] == codes
    return is_equal.flatten(2).all(2)


@pytest.mark.parametrize(
    "model", [NVAE(**FLAT), DIVA(**FLAT | {"domains": 2}, reconstruction="squared")]
)
def test_priors_depend_on_the_labels_alone(model):
    """Each block's prior has its shape, follows its labels and no others, and is the
    same in evaluation.
    """
    last = model.settings.domains - 1
    y = torch.tensor([0, 1, 1, 0])
    d = torch.tensor([0, 0, last, last])
    both = torch.stack([y, d], 1)
    followed = {"z_y": y[:, None], "z_x": 0 * both, "z_dy": both, "z_d": d[:, None]}
    for name in model.blocks_spec.names:
        prior = model.train().prior(name, y, d)
        shape = (4, getattr(model.blocks_spec, name))
        assert prior.mean.shape == prior.scale.shape == shape
        assert torch.equal(same_code(prior.mean), same_code(followed[name]))
        alone = model.eval().prior(name, y[2:3], d[2:3])
        assert torch.equal(alone.mean[0], prior.mean[2])
        assert torch.equal(alone.scale[0], prior.scale[2])


def class_logits_of(model, z):
    codes = torch.cat([z["z_y"], z["z_dy"]], 1)
    return model.class_head(codes)


def test_unknown_classes_are_summed_over():
    """The divergences of items of unknown class, against explicit sums over classes; of
    others they are unchanged.
    """
    model = flat_nvae()
    items = batch()
    posterior = model.blocks(items.x)
    z = drawn(model, items)
    logits = class_logits_of(model, z)

    def divergences(y):
        return model.divergences(items._replace(y=y), posterior, z, logits)

    unknown = torch.full((12,), -1)
    of_unknown = divergences(unknown)
    of_labelled = divergences(items.y)
    half_known = torch.cat([items.y[:6], unknown[6:]])
    of_both = divergences(half_known)
    q = logits.softmax(1)
    for name in z:
        expected = torch.zeros(12)
        for label in range(4):
            of_class = divergences(torch.full((12,), label))
            expected = expected + q[:, label] * of_class[name]
        assert_close(of_unknown[name], expected, rtol=1e-4, atol=1e-5)
        halves = torch.cat([of_labelled[name][:6], of_unknown[name][6:]])
        assert_close(of_both[name], halves)


def test_the_loss_of_unknown_classes_has_their_entropy_and_no_class_term():
    model = flat_nvae(
        l1={"z_dy": 2.0}, l1_form="item-sum", alpha_d=3.0, beta={"z_y": 0.5}
    )
    items = batch()
    unknown = items._replace(y=torch.full((12,), -1))
    z = drawn(model, items)
    logits = class_logits_of(model, z)
    terms = model.losses(unknown, 0.5, generator(2))
    entropy = Categorical(logits=logits).entropy().mean()
    missing = math.log(4) - entropy.item()
    assert terms["class_prior"].item() == approx(missing, abs=1e-5)
    assert "class" not in terms
    total = terms["reconstruction"] + terms["class_prior"] + 3.0 * terms["domain"]
    absolute = z["z_dy"].abs().sum(1).mean()
    total = total + 2.0 * absolute
    posterior = model.blocks(items.x)
    divergences = model.divergences(unknown, posterior, z, logits)
    for name, values in divergences.items():
        weight = 0.5 if name == "z_y" else 1.0
        total = total + weight * values.mean()
    assert close(terms["objective"], total)


def test_nvae_is_the_published_sum_over_a_batch():
    """n items' objectives = squared errors, divergences and weighted cross entropies,
    all summed over the batch, with 5 times the mean of |z_dy| once (NVAE's published
    code for coloured, rotated MNIST).
    """
    model = flat_nvae(alpha_y=150.0, alpha_d=150.0)
    items = batch()
    objective = model.losses(items, 0.5, generator(2))["objective"]
    z = drawn(model, items)
    difference = items.x - model.decode(z)
    total = difference.square().sum()
    total = total + log_ratios(model, items, z)
    for head, own, label in (
        (model.class_head, "z_y", items.y),
        (model.domain_head, "z_d", items.d),
    ):
        codes = torch.cat([z[own], z["z_dy"]], 1)
        read = head(codes)
        total = total + 150.0 * cross_entropy(read, label, reduction="sum")
    total = total + 5.0 * z["z_dy"].abs().mean()
    assert close(12 * objective, total)


def test_diva_is_the_published_sum_over_a_batch():
    """As the official code for rotated MNIST: cross entropies of 256 levels summed over
    pixels and items, divergences of one draw, 3500 and 2000 times the auxiliary ones,
    all sums; halfway through the warm-up, of a fifth of the training, half the
    divergences.
    """
    model = DIVA(**SETTING | {"shape": (1, 8, 8)}, generator=generator())
    items = batch((1, 8, 8))
    levels = (255 * items.x).round()
    items = items._replace(x=levels / 255)
    z = drawn(model, items)
    codes = torch.cat([z[name] for name in model.blocks_spec.names], 1)
    total = torch.zeros(())
    for weight, logits, labels in (
        (1, model.decoder(codes).view(12, 256, 64), levels.long().view(12, 64)),
        (3500, model.class_head(z["z_y"]), items.y),
        (2000, model.domain_head(z["z_d"]), items.d),
    ):
        total = total + weight * cross_entropy(logits, labels, reduction="sum")
    kl = log_ratios(model, items, z)
    for progress, ramp in ((0.0, 0.0), (0.1, 0.5), (0.9, 1.0)):
        objective = model.losses(items, progress, generator(2))["objective"]
        assert close(12 * objective, total + ramp * kl)


def test_all_terms_of_augmented_dann_are_means():
    """Absolute values and cross entropies are means over items and dimensions:
    neither the size of the batch nor that of a block changes their share."""
    model = flat(AugmentedDANN)
    items = batch()
    terms = losses(model, items)
    again = losses(model, twice(items))
    for name, mean in means(model, items).items():
        assert close(terms[f"l1/{name}"], mean.abs().mean())
    for name in terms:
        assert close(again[name], terms[name])


def test_dann_encoder_climbs_what_the_adversary_descends():
    """Encoder gradient = that of the class loss - weight x that of the adversary's; the
    adversary's is its own.
    """
    model = flat(DANN, adversary={"weight": 0.6, "gamma": 4.0})
    items = batch()
    weight = 0.6 * math.tanh(2.0 * 0.3)
    first = model.encoder[0].weight
    head = model.adversary[0].weight
    z = model.features(items.x)
    by_class = torch.autograd.grad(
        cross_entropy(model.class_head(z), items.y), first, retain_graph=True
    )[0]
    by_domain, own = torch.autograd.grad(
        cross_entropy(model.adversary(z), items.d), (first, head)
    )
    model.losses(items, 0.3, generator())["objective"].backward()
    assert_close(first.grad, by_class - weight * by_domain)
    assert_close(head.grad, own)


def test_alternating_dann_takes_turns():
    """Steps of the adversary see no encoder; the penalty is each item's own squared
    gradient, so that a batch of the same items twice has the same one; the rest
    descends the class loss less the adversary's.
    """
    adversary = {
        "method": "alternating",
        "steps": 2,
        "gradient_penalty": 0.5,
        "gamma": None,
        "weight": 0.3,
    }
    model = flat(DANN, adversary=adversary)
    items = batch()
    turns = ["adversary", "adversary", "rest"]
    assert [model.player(step) for step in range(6)] == turns * 2
    players = model.players()
    counts = map(len, players.values())
    assert sum(counts) == len(list(model.parameters()))
    terms = losses(model, items, "adversary")
    terms["objective"].backward()
    for parameter in players["rest"]:
        assert parameter.grad is None
    z = model.features(items.x).detach().requires_grad_()
    loss = cross_entropy(model.adversary(z), items.d, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, z)
    squared = gradient.square().sum(1).mean()
    assert close(terms["gradient_penalty"], squared, rel=1e-4)
    again = losses(model, twice(items), "adversary")
    assert close(again["gradient_penalty"], squared, rel=1e-4)
    rest = losses(model, items, "rest")
    read = rest["adversary"] + 0.5 * rest["gradient_penalty"]
    assert close(rest["objective"], rest["class"] - 0.3 * read)


@pytest.mark.parametrize("conditional", [True, False])
def test_conditional_adversaries_receive_the_other_label(conditional):
    items = batch()
    model = flat(AugmentedDANN, conditional=conditional)
    assert model.domain_adversary[0].in_features == 12 + 4 * conditional
    assert model.class_adversary[0].in_features == 12 + 3 * conditional
    terms = losses(model, items)
    other_classes = items._replace(y=items.y.flip(0))
    other = losses(model, other_classes)
    assert (terms["adversary/domain"] != other["adversary/domain"]) == conditional
    read = terms["adversary/domain"] + terms["adversary/class"]
    total = terms["class"] + terms["domain"] + 0.15 * read
    absolute = 0.5 * terms["l1/z_y"] + 1.5 * terms["l1/z_dy"] + terms["l1/z_d"]
    assert close(terms["objective"], total + math.tanh(2.5) * absolute)


def test_augmented_dann_turns_each_adversary_against_its_own_block():
    """Encoder gradient = that of the cross entropies - weight x ramp x those of the
    adversaries', each of one block; the adversaries descend their own losses.
    """
    model = flat(AugmentedDANN, adversary={"weight": 0.6, "gamma": 4.0}, l1={})
    items = batch()
    z = means(model, items)
    class_and_z_y = torch.cat([z["z_y"], one_hot(items.y, 4)], 1)
    domain_and_z_d = torch.cat([z["z_d"], one_hot(items.d, 3)], 1)
    predicted = cross_entropy(model.class_logits(items.x), items.y)
    predicted = predicted + cross_entropy(model.domain_logits(items.x), items.d)
    read = cross_entropy(model.domain_adversary(class_and_z_y), items.d)
    read = read + cross_entropy(model.class_adversary(domain_and_z_d), items.y)
    first = next(model.encoder.parameters())
    adversaries = [model.domain_adversary[0].weight, model.class_adversary[0].weight]
    (by_heads,) = torch.autograd.grad(predicted, first, retain_graph=True)
    by_readers, *expected = torch.autograd.grad(read, [first, *adversaries])
    model.losses(items, 0.3, generator())["objective"].backward()
    ramp = math.tanh(2.0 * 0.3)
    assert_close(first.grad, by_heads - 0.6 * ramp * by_readers)
    for weight, gradient in zip(adversaries, expected):
        assert_close(weight.grad, 0.6 * gradient)


def blocks_of_50(**dimensions):
    return {
        name: torch.randn(50, dim, generator=generator(dim))
        for name, dim in dimensions.items()
    }


def test_decorrelation_is_the_mean_squared_correlation():
    """Of coordinates of different blocks: all entries but those of blocks on the
    diagonal.
    """
    z = blocks_of_50(z_y=2, z_d=3, z_dy=1)
    columns = torch.cat(list(z.values()), 1)
    squared = torch.corrcoef(columns.T).square()
    between = [squared[:2, 2:].flatten(), squared[2:5, 5]]
    expected = torch.cat(between).mean()
    assert close(mean_squared_correlation(z), expected, rel=1e-4)


def covariance(a, b):
    centred_a = a - a.mean(0)
    centred_b = b - b.mean(0)
    return centred_a.T @ centred_b / len(a)


def test_decorrelation_is_the_frobenius_norm_of_the_covariance():
    """Of z_dy with z_y and with z_d, not of z_y with z_d, divided by n."""
    z = blocks_of_50(z_dy=4, z_y=2, z_d=3)
    z["z_y"] = z["z_y"] + z["z_dy"][:, :2] + 7.0
    with_y = covariance(z["z_dy"], z["z_y"]).norm()
    with_d = covariance(z["z_dy"], z["z_d"]).norm()
    assert close(covariance_norms(z), with_y + with_d, rel=1e-4)


FORMS = {"covariance": covariance_norms, "correlation": mean_squared_correlation}


@pytest.mark.parametrize("form", FORMS)
def test_decorrelation_has_the_form_that_is_named_and_no_gradient_at_a_constant(form):
    items = batch()
    model = flat(AugmentedDANN, decorrelation=0.7, decorrelation_form=form)
    objective = losses(model, items)["objective"]
    without = losses(flat(AugmentedDANN), items)["objective"]
    term = FORMS[form](means(model, items))
    assert close(objective - without, 0.7 * term, rel=1e-4)
    constant = torch.zeros(5, 2, requires_grad=True)
    varying = torch.randn(5, 1, generator=generator())
    FORMS[form]({"z_y": constant, "z_dy": varying}).backward()
    assert not constant.grad.any()


def test_invariance_penalty_is_the_slope_by_a_scalar_weight():
    """Squared, of the risk of w * logits at w = 1; unbiased, the product of those of
    even and odd items.
    """
    logits = 2 * torch.randn(10, 3, generator=generator(), dtype=torch.float64)
    y = torch.arange(10) % 3

    def slope(start, step):
        w = torch.ones((), dtype=torch.float64, requires_grad=True)
        risk = cross_entropy(w * logits[start::step], y[start::step])
        (gradient,) = torch.autograd.grad(risk, w)
        return gradient.item()

    squared = slope(0, 1) ** 2
    product = slope(0, 2) * slope(1, 2)
    assert close(invariance_penalty(logits, y, "squared"), squared, rel=1e-10)
    assert close(invariance_penalty(logits, y, "unbiased"), product, rel=1e-10)
    with refused("a step", "few"):
        invariance_penalty(logits[:1], y[:1])


def test_irm_averages_domains_and_switches():
    model = flat(IRM, weight=7.0, weight_before=0.5, switch=0.25)
    rows = [0, 1, 2, 3, 4, 5, 8, 9]  # four items of the first domain, two of each other
    items = Batch(*(values[rows] for values in batch()))
    logits = model.class_logits(items.x)
    risk = 0.0
    penalty = 0.0
    for domain in range(3):
        inside = items.d == domain
        risk += cross_entropy(logits[inside], items.y[inside]) / 3
        penalty += invariance_penalty(logits[inside], items.y[inside]) / 3
    for progress, weight in ((0.2, 0.5), (0.25, 7.0)):
        terms = model.losses(items, progress, generator())
        assert close(terms["objective"], risk + weight * penalty)
    assert model.restart(20) == 5  # the first step with step / steps >= 0.25
    assert model.restart(10) == 3
    assert flat(ERM).restart(20) is None


@pytest.mark.slow  # torchvision's import and a DenseNet-121: 10 s
@pytest.mark.parametrize(
    "kind, last", [("densenet121", "classifier"), ("resnet18", "fc")]
)
def test_backbones_are_torchvisions(kind, last):
    """torchvision's own network with our weights gives our features; NVAE on them
    decodes as usual.
    """
    import torchvision

    setting = {
        "shape": (3, 64, 64),
        "classes": 2,
        "domains": 3,
        "network": {"kind": kind, "width": 4},
    }
    ours = ERM(**setting, generator=generator()).eval().encoder[0]
    with torch.random.fork_rng(devices=[]):
        theirs = getattr(torchvision.models, kind)(weights=None).eval()
    setattr(theirs, last, torch.nn.Identity())
    for value, weight in zip(
        theirs.state_dict().values(), ours.state_dict().values(), strict=True
    ):
        value.copy_(weight)
    x = batch((3, 64, 64)).x[:2]
    with torch.no_grad():
        assert_close(ours(x), theirs(x), rtol=0, atol=1e-4)
        assert NVAE(**setting, generator=generator()).eval()(x).shape == (2, 2)
