"""The domain models' parts: blocks, priors, divergences, penalties, adversaries, and their way through JSON."""

import json
import math
from dataclasses import asdict

import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import cross_entropy, one_hot

from infoscope.models.domain import (
    DANN,
    DIVA,
    ERM,
    IRM,
    MODELS,
    NVAE,
    PUBLISHED,
    AugmentedDANN,
    Batch,
    Block,
    BlockSpec,
    invariance_penalty,
)
from infoscope.models.domain.adversarial import covariance_norms, mean_squared_correlation
from infoscope.models.domain.variational import absolute_values
from tests.data.common import generator
from tests.refusals import refused

SETTING = {"shape": (3, 16, 16), "classes": 4, "domains": 3, "network": {"width": 4}}
FLAT = {"shape": (5,), "classes": 4, "domains": 3, "network": {"width": 16}}


def batch(n: int = 12, shape=(3, 16, 16), seed: int = 1) -> Batch:
    g = generator(seed)
    return Batch(torch.rand(n, *shape, generator=g), torch.arange(n) % 4, torch.arange(n) // 4 % 3)


def flat_nvae(**settings) -> NVAE:
    return NVAE(**FLAT | {"blocks": {"z_y": 2, "z_x": 1, "z_dy": 2, "z_d": 2}} | settings, generator=generator())


def test_block_spec_lays_out_what_exists():
    spec = BlockSpec(3, None, 2, 4)
    assert spec.names == ("z_y", "z_dy", "z_d") and spec.dim == 9
    assert spec.slices == {"z_y": slice(0, 3), "z_dy": slice(3, 5), "z_d": slice(5, 9)}
    assert BlockSpec(3, 0, 2, 4) == spec
    assert BlockSpec.from_dict(json.loads(json.dumps(asdict(spec)))) == spec
    assert BlockSpec.from_dict({"z_y": 3, "z_dy": 2, "z_d": 4}) == spec


@pytest.mark.parametrize("name", MODELS)
def test_every_model_answers_from_its_blocks_alone(name):
    model = MODELS[name](**SETTING, generator=generator()).eval()
    x = batch().x
    with torch.no_grad():
        blocks, probabilities, domains = model.blocks(x), model(x), model.domain_logits(x)
    assert tuple(blocks) == model.blocks_spec.names  # absent blocks have no entry, not one of zeros
    for key, block in blocks.items():
        assert block.mean.shape == (12, getattr(model.blocks_spec, key))
        assert (block.scale is None) == (name not in ("nvae", "diva"))
        if block.scale is not None:
            assert (block.scale > 0).all() and block.scale.shape == block.mean.shape
    assert probabilities.shape == (12, 4) and torch.allclose(probabilities.sum(1), torch.ones(12))
    if name in ("nvae", "diva", "dann", "augmented-dann"):
        assert domains.shape == (12, 3)
    else:
        assert domains is None


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 28, 28), (2, 19, 32), (3, 64, 64), (7,)])
@pytest.mark.parametrize("reconstruction", ["squared", "categorical", "bernoulli"])
def test_decoders_give_items_of_any_shape(shape, reconstruction):
    model = DIVA(**SETTING | {"shape": shape}, reconstruction=reconstruction, blocks={"z_y": 2, "z_d": 2}).eval()
    x = torch.rand(3, *shape, generator=generator())
    with torch.no_grad():
        z = {name: block.mean for name, block in model.blocks(x).items()}
        assert model.decode(z).shape == x.shape
        loss = model.reconstruction(x, z)
    assert loss.shape == (3,) and (loss > 0).all()


def test_categorical_loss_belongs_to_its_own_pixel():
    """Outputs of the decoder [n, 256 * channels, h, w] that put all probability on the level of each value have a loss
    of 0, and 60 nats each for values of another channel or place.
    """
    model = DIVA(**SETTING | {"shape": (2, 3, 4)}, blocks={"z_y": 1, "z_d": 1})
    levels = torch.arange(24).view(1, 2, 3, 4) * 11
    logits = 60.0 * one_hot(levels, 256).movedim(-1, 1).float()  # [1, 256, 2, 3, 4]
    z = {"z_y": torch.ones(1, 1), "z_d": torch.ones(1, 1)}
    model.decoder.forward = lambda codes: logits.flatten(1, 2)
    assert model.reconstruction(levels / 255, z).item() == pytest.approx(0, abs=1e-4)
    for other in (levels.flip(1), levels.flip(2), levels.flip(3)):
        assert model.reconstruction(other / 255, z).item() == pytest.approx(
            60 * (other != levels).sum().item(), rel=1e-3
        )
    assert torch.allclose(model.decode(z), levels / 255, atol=1e-5)
    with refused("x", "range"):
        model.reconstruction(levels / 255 * 2, z)


@pytest.mark.parametrize("model", [NVAE(**FLAT), DIVA(**FLAT | {"domains": 2}, reconstruction="squared")])
def test_priors_depend_on_the_labels_alone(model):
    """Each block's prior has its shape, follows its labels and no others, and is the same in evaluation."""
    domains = model.settings.domains
    y, d = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, domains - 1, domains - 1])
    follows = {"z_y": [0, 1, 1, 0], "z_x": [0, 0, 0, 0], "z_dy": [0, 1, 2, 3], "z_d": [0, 0, 1, 1]}
    for name in model.blocks_spec.names:
        prior = model.prior(name, y, d)
        assert prior.mean.shape == prior.scale.shape == (4, getattr(model.blocks_spec, name))
        assert torch.unique(prior.mean, dim=0).shape[0] == len(set(follows[name]))
        for one in range(4):
            for other in range(4):
                same = torch.equal(prior.mean[one], prior.mean[other])
                assert same == (follows[name][one] == follows[name][other])
        alone = model.eval().prior(name, y[2:3], d[2:3])
        assert torch.equal(alone.mean[0], prior.mean[2]) and torch.equal(alone.scale[0], prior.scale[2])
        model.train()
    with pytest.raises(KeyError):
        DIVA(**FLAT).prior("z_dy", y, d)


def test_divergences_are_kl_on_average():
    """Mean over 20,000 draws within 5 standard errors of torch's closed form (false alarm below 1e-4 over 4 x 12)."""
    model, items = flat_nvae(), batch(12, (5,))
    with torch.no_grad():
        posterior = model.blocks(items.x)
        draws, g = 20_000, generator(5)
        many = Batch(*(values.repeat_interleave(draws, 0) for values in items))
        wide = {
            name: Block(block.mean.repeat_interleave(draws, 0), block.scale.repeat_interleave(draws, 0))
            for name, block in posterior.items()
        }
        z = {name: block.draw(g) for name, block in wide.items()}
        sampled = model.divergences(many, wide, z, torch.zeros(len(many.y), 4))
        for name, block in posterior.items():
            prior = model.prior(name, items.y, items.d)
            exact = kl_divergence(Normal(block.mean, block.scale), Normal(prior.mean, prior.scale)).sum(1)
            values = sampled[name].view(12, draws)
            error = values.std(1) / math.sqrt(draws)
            assert ((values.mean(1) - exact).abs() < 5 * error + 1e-4).all()


def test_unknown_classes_are_summed_over():
    """The loss of items of unknown class, against explicit sums over classes; of known ones, it is unchanged."""
    settings = {"l1": {"z_dy": 2.0}, "l1_form": "item-sum", "alpha_d": 3.0, "beta": {"z_y": 0.5}}
    model, items = flat_nvae(**settings), batch(12, (5,))
    unknown = items._replace(y=torch.full((12,), -1))
    z = {name: block.draw(g) for g in [generator(2)] for name, block in model.blocks(items.x).items()}
    logits = model.class_head(torch.cat([z["z_y"], z["z_dy"]], 1))
    q = logits.softmax(1)
    posterior = model.blocks(items.x)
    got = model.divergences(unknown, posterior, z, logits)
    expected = {name: torch.zeros(12) for name in z}
    for y in range(4):
        given = model.divergences(items._replace(y=torch.full((12,), y)), posterior, z, logits)
        expected = {name: total + q[:, y] * given[name] for name, total in expected.items()}
    for name in z:
        assert torch.allclose(got[name], expected[name], rtol=1e-4, atol=1e-5)
    terms = model.losses(unknown, 0.5, generator(2))
    entropy = -(q * q.log()).sum(1).mean()
    assert terms["class_prior"].item() == pytest.approx(math.log(4) - entropy.item(), abs=1e-5)
    assert "class" not in terms
    kl = {name: values.mean() for name, values in got.items()}
    total = terms["reconstruction"] + 0.5 * kl["z_y"] + kl["z_x"] + kl["z_dy"] + kl["z_d"] + terms["class_prior"]
    total = total + 3.0 * terms["domain"] + 2.0 * z["z_dy"].abs().sum(1).mean()
    assert terms["objective"].item() == pytest.approx(total.item(), rel=1e-5)
    mixed = items._replace(y=torch.where(torch.arange(12) < 6, items.y, -1))
    half = model.divergences(mixed, posterior, z, logits)
    known = model.divergences(items, posterior, z, logits)
    for name in z:
        assert torch.allclose(half[name][:6], known[name][:6]) and torch.allclose(half[name][6:], got[name][6:])


def test_l1_has_the_closed_form_of_its_name():
    """Of a normal z of scale s, E|z| = s sqrt(2 / pi): the batch pays the mean once, or every item the sum of its
    dimensions. 20,000 x 8 values within 5 standard errors; then by hand."""
    n, dim, scale = 20_000, 8, 0.7
    z = scale * torch.randn(n, dim, generator=generator())
    error = 5 * scale * math.sqrt(1 - 2 / math.pi) / math.sqrt(n * dim)
    assert n * absolute_values(z, "batch-mean").item() == pytest.approx(scale * math.sqrt(2 / math.pi), abs=error)
    assert absolute_values(z, "item-sum").item() / dim == pytest.approx(scale * math.sqrt(2 / math.pi), abs=error)
    z = torch.tensor([[1.0, -2.0, 3.0], [0.0, 4.0, -2.0]])
    assert absolute_values(z, "batch-mean").item() == pytest.approx(12 / 6 / 2)
    assert absolute_values(z, "item-sum").item() == pytest.approx(12 / 2)


def test_nvae_is_the_published_sum_over_a_batch():
    """n items' objectives = squared errors, divergences and weighted cross entropies, all summed over the batch, with 5
    times the mean of |z_dy| once (NVAE's published code for coloured, rotated MNIST)."""
    model, items = flat_nvae(alpha_y=150.0, alpha_d=150.0), batch(12, (5,))
    objective = model.losses(items, 0.5, generator(2))["objective"]
    posterior, g = model.blocks(items.x), generator(2)
    z = {name: block.draw(g) for name, block in posterior.items()}
    x = model.decode(z)
    total = (items.x - x).square().sum()
    for name, block in posterior.items():
        prior = model.prior(name, items.y, items.d)
        ratio = Normal(block.mean, block.scale).log_prob(z[name]) - Normal(prior.mean, prior.scale).log_prob(z[name])
        total = total + ratio.sum()
    for head, own, label in ((model.class_head, "z_y", items.y), (model.domain_head, "z_d", items.d)):
        read = head(torch.cat([z[own], z["z_dy"]], 1))
        total = total + 150.0 * cross_entropy(read, label, reduction="sum")
    total = total + 5.0 * z["z_dy"].abs().mean()
    assert 12 * objective.item() == pytest.approx(total.item(), rel=1e-5)


def test_diva_is_the_published_sum_over_a_batch():
    """As the official code for rotated MNIST: cross entropies of 256 levels summed over pixels and items, divergences
    of one draw, 3500 and 2000 times the auxiliary ones, all sums; halfway through the warm-up, of a fifth of the
    training, half the divergences."""
    model = DIVA(**SETTING | {"shape": (1, 8, 8)}, generator=generator())
    items = batch(12, (1, 8, 8))
    items = items._replace(x=(255 * items.x).round() / 255)
    posterior, g = model.blocks(items.x), generator(2)
    z = {name: block.draw(g) for name, block in posterior.items()}
    raw = model.decoder(torch.cat([z[name] for name in model.blocks_spec.names], 1)).view(12, 256, 64)
    total, kl = cross_entropy(raw, (255 * items.x).round().long().view(12, 64), reduction="sum"), 0.0
    for name, block in posterior.items():
        prior = model.prior(name, items.y, items.d)
        ratio = Normal(block.mean, block.scale).log_prob(z[name]) - Normal(prior.mean, prior.scale).log_prob(z[name])
        kl = kl + ratio.sum()
    total = total + 3500 * cross_entropy(model.class_head(z["z_y"]), items.y, reduction="sum")
    total = total + 2000 * cross_entropy(model.domain_head(z["z_d"]), items.d, reduction="sum")
    for progress, ramp in ((0.0, 0.0), (0.1, 0.5), (0.9, 1.0)):
        objective = model.losses(items, progress, generator(2))["objective"]
        assert 12 * objective.item() == pytest.approx((total + ramp * kl).item(), rel=1e-5)


def test_all_terms_of_augmented_dann_are_means():
    """Absolute values and cross entropies are means over items and dimensions:
    neither the size of the batch nor that of a block changes their share."""
    model, items = AugmentedDANN(**FLAT, generator=generator()), batch(12, (5,))
    z = model.blocks(items.x)
    twice = Batch(*(torch.cat([values, values]) for values in items))
    terms, again = (model.losses(some, 0.5, generator()) for some in (items, twice))
    for name in ("z_y", "z_dy", "z_d"):
        assert terms[f"l1/{name}"].item() == pytest.approx(z[name].mean.abs().sum().item() / (12 * 12), rel=1e-5)
    for name in terms:
        assert again[name].item() == pytest.approx(terms[name].item(), rel=1e-5)


def test_dann_encoder_climbs_what_the_adversary_descends():
    """Encoder gradient = that of the class loss - weight x that of the adversary's; the adversary's is its own."""
    model, items = DANN(**FLAT, adversary={"weight": 0.6, "gamma": 4.0}, generator=generator()), batch(12, (5,))
    weight = 0.6 * math.tanh(2.0 * 0.3)
    first, head = model.encoder[0].weight, model.adversary[0].weight
    z = model.features(items.x)
    class_loss, read = cross_entropy(model.class_head(z), items.y), cross_entropy(model.adversary(z), items.d)
    by_class = torch.autograd.grad(class_loss, first, retain_graph=True)[0]
    by_domain, own = torch.autograd.grad(read, (first, head))
    terms = model.losses(items, 0.3, generator())
    terms["objective"].backward()
    assert torch.allclose(first.grad, by_class - weight * by_domain, atol=1e-6)
    assert torch.allclose(head.grad, own, atol=1e-7)


def test_alternating_dann_takes_turns():
    """Steps of the adversary see no encoder; the penalty is each item's own squared gradient, so that a batch of the
    same items twice has the same one; the rest descends the class loss less the adversary's."""
    adversary = {"method": "alternating", "steps": 2, "gradient_penalty": 0.5, "gamma": None, "weight": 0.3}
    model, items = DANN(**FLAT, adversary=adversary, generator=generator()), batch(12, (5,))
    assert [model.player(step) for step in range(6)] == ["adversary", "adversary", "rest"] * 2
    players = model.players()
    assert sum(map(len, players.values())) == len(list(model.parameters()))
    terms = model.losses(items, 0.5, generator(), "adversary")
    terms["objective"].backward()
    assert all(parameter.grad is None for parameter in players["rest"])
    z = model.features(items.x).detach()
    slopes = []
    for one, domain in zip(z, items.d):
        one = one.clone().requires_grad_()
        slopes.append(torch.autograd.grad(cross_entropy(model.adversary(one[None]), domain[None]), one)[0])
    expected = torch.stack(slopes).square().sum(1).mean()
    assert terms["gradient_penalty"].item() == pytest.approx(expected.item(), rel=1e-4)
    twice = model.losses(Batch(*(torch.cat([values, values]) for values in items)), 0.5, generator(), "adversary")
    assert twice["gradient_penalty"].item() == pytest.approx(expected.item(), rel=1e-4)
    rest = model.losses(items, 0.5, generator(), "rest")
    total = rest["class"] - 0.3 * (rest["adversary"] + 0.5 * rest["gradient_penalty"])
    assert rest["objective"].item() == pytest.approx(total.item(), rel=1e-5)


def test_conditional_adversaries_receive_the_other_label():
    """With all weights of the values of the block at zero, a conditional adversary still uses the label."""
    items = batch(12, (5,))
    for conditional, inputs in ((True, 12 + 4), (False, 12)):
        model = AugmentedDANN(**FLAT, conditional=conditional, generator=generator())
        assert model.domain_adversary[0].in_features == inputs
        assert model.class_adversary[0].in_features == 12 + (3 if conditional else 0)
        terms = model.losses(items, 0.5, generator())
        other = model.losses(items._replace(y=items.y.flip(0)), 0.5, generator())
        assert (terms["adversary/domain"] == other["adversary/domain"]) == (not conditional)
        ramp = math.tanh(2.5)
        total = terms["class"] + terms["domain"] + 0.15 * (terms["adversary/domain"] + terms["adversary/class"])
        total = total + ramp * (0.5 * terms["l1/z_y"] + 1.5 * terms["l1/z_dy"] + terms["l1/z_d"])
        assert terms["objective"].item() == pytest.approx(total.item(), rel=1e-5)


@pytest.mark.parametrize("gamma", [4.0, None])
def test_augmented_dann_turns_each_adversary_against_its_own_block(gamma):
    """Encoder gradient = that of the cross entropies - weight x ramp x those of the adversaries', each of one
    block; the adversaries descend their own losses."""
    adversary = {"weight": 0.6, "gamma": gamma}
    model = AugmentedDANN(**FLAT, adversary=adversary, l1={}, generator=generator())
    items, ramp = batch(12, (5,)), 1.0 if gamma is None else math.tanh(2.0 * 0.3)
    z = {name: block.mean for name, block in model.blocks(items.x).items()}
    heads = cross_entropy(model.class_logits(items.x), items.y) + cross_entropy(model.domain_logits(items.x), items.d)
    read_d = cross_entropy(model.domain_adversary(torch.cat([z["z_y"], one_hot(items.y, 4)], 1)), items.d)
    read_y = cross_entropy(model.class_adversary(torch.cat([z["z_d"], one_hot(items.d, 3)], 1)), items.y)
    first = next(model.encoder.parameters())
    by_heads, by_readers = (torch.autograd.grad(loss, first, retain_graph=True)[0] for loss in (heads, read_d + read_y))
    readers = [model.domain_adversary[0].weight, model.class_adversary[0].weight]
    own = torch.autograd.grad(read_d + read_y, readers)
    model.losses(items, 0.3, generator())["objective"].backward()
    assert torch.allclose(first.grad, by_heads - 0.6 * ramp * by_readers, atol=1e-6)
    for weight, expected in zip(readers, own):
        assert torch.allclose(weight.grad, 0.6 * expected, atol=1e-7)


def test_decorrelation_is_the_mean_squared_correlation():
    z = {name: torch.randn(50, dim, generator=generator(dim)) for name, dim in (("z_y", 2), ("z_d", 3), ("z_dy", 1))}
    together = torch.corrcoef(torch.cat(list(z.values()), 1).T)
    pairs = [
        (i, j)
        for i in range(6)
        for j in range(6)
        if i < j and {0: 0, 1: 0, 5: 2}.get(i, 1) != {0: 0, 1: 0, 5: 2}.get(j, 1)
    ]
    expected = torch.stack([together[i, j].square() for i, j in pairs]).mean()
    assert mean_squared_correlation(z).item() == pytest.approx(expected.item(), rel=1e-4)
    constant = {"z_y": torch.zeros(5, 2, requires_grad=True), "z_d": torch.randn(5, 1, generator=generator())}
    value = mean_squared_correlation(constant)
    value.backward()
    assert value == 0 and torch.isfinite(constant["z_y"].grad).all()


def test_decorrelation_is_the_frobenius_norm_of_the_covariance():
    """Of z_dy with z_y and with z_d, not of z_y with z_d, divided by n; it grows with the scale and turns its gradient
    off where there is no covariance."""
    z = {name: torch.randn(50, dim, generator=generator(dim)) for name, dim in (("z_y", 2), ("z_d", 3), ("z_dy", 4))}
    z["z_y"] = z["z_y"] + z["z_dy"][:, :2] + 7.0
    whole = torch.cov(torch.cat([z["z_dy"], z["z_y"], z["z_d"]], 1).T, correction=0)
    expected = whole[:4, 4:6].square().sum().sqrt() + whole[:4, 6:].square().sum().sqrt()
    assert covariance_norms(z).item() == pytest.approx(expected.item(), rel=1e-4)
    assert covariance_norms(z | {"z_dy": 3 * z["z_dy"]}).item() == pytest.approx(3 * expected.item(), rel=1e-4)
    without = {"z_dy": z["z_dy"], "z_y": z["z_y"]}
    assert covariance_norms(without).item() == pytest.approx(whole[:4, 4:6].square().sum().sqrt().item(), rel=1e-4)
    # z_dy = 2 z_y, one dimension each, z_y = -1, 1: the covariance is 2
    pair = torch.tensor([[-1.0], [1.0]])
    assert covariance_norms({"z_y": pair, "z_dy": 2 * pair}).item() == pytest.approx(2.0)
    assert mean_squared_correlation({"z_y": pair, "z_dy": 2 * pair}).item() == pytest.approx(1.0)
    constant = {"z_y": torch.zeros(5, 2, requires_grad=True), "z_dy": torch.randn(5, 1, generator=generator())}
    value = covariance_norms(constant)
    value.backward()
    assert value == 0 and torch.equal(constant["z_y"].grad, torch.zeros(5, 2))


@pytest.mark.parametrize(
    ("form", "between"), [("covariance", covariance_norms), ("correlation", mean_squared_correlation)]
)
def test_decorrelation_is_added_in_the_form_that_is_named(form, between):
    items, losses = batch(12, (5,)), {}
    for weight in (0.0, 0.7):
        model = AugmentedDANN(**FLAT, decorrelation=weight, decorrelation_form=form, generator=generator())
        losses[weight] = model.losses(items, 0.5, generator())
    term = between({name: block.mean for name, block in model.blocks(items.x).items()})
    assert losses[0.7]["decorrelation"].item() == pytest.approx(term.item(), rel=1e-5) and term > 0
    added = losses[0.7]["objective"] - losses[0.0]["objective"]
    assert added.item() == pytest.approx(0.7 * term.item(), rel=1e-4)
    default = AugmentedDANN(**FLAT, decorrelation=0.7, generator=generator())
    assert (default.losses(items, 0.5, generator())["decorrelation"] == losses[0.7]["decorrelation"]) == (
        form == "covariance"
    )


def test_invariance_penalty_is_the_slope_by_a_scalar_weight():
    """Against autograd and against finite differences of the risk of w * logits at w = 1."""
    logits = 2 * torch.randn(10, 3, generator=generator(), dtype=torch.float64)
    y = torch.arange(10) % 3

    def slope(rows: slice) -> float:
        w = torch.ones((), dtype=torch.float64, requires_grad=True)
        risk = cross_entropy(w * logits[rows], y[rows])
        exact = torch.autograd.grad(risk, w)[0].item()
        up, down = (cross_entropy((1 + h) * logits[rows], y[rows]).item() for h in (1e-5, -1e-5))
        assert exact == pytest.approx((up - down) / 2e-5, rel=1e-6)
        return exact

    assert invariance_penalty(logits, y, "squared").item() == pytest.approx(slope(slice(None)) ** 2, rel=1e-10)
    halves = slope(slice(0, None, 2)) * slope(slice(1, None, 2))
    assert invariance_penalty(logits, y, "unbiased").item() == pytest.approx(halves, rel=1e-10)
    with refused("a step", "few"):
        invariance_penalty(logits[:1], y[:1])


def test_squared_penalty_is_biased_upwards_and_the_product_is_not():
    """Of binary logits (0, s) with y = 1 at probability sigmoid(s) the slope s (sigmoid(s) - y) is 0 on average and has
    the variance s^2 p (1 - p): of this the squared penalty of 8 items contains an eighth, and the product nothing.
    Means over 2,000 batches within 5 standard errors (false alarm below 1e-5).
    """
    s, items, batches = 1.0, 8, 2000
    p = 1 / (1 + math.exp(-s))
    y = (torch.rand(batches, items, generator=generator(9)) < p).long()
    logits = torch.tensor([[0.0, s]]).expand(items, 2)
    for penalty, truth in (("squared", s**2 * p * (1 - p) / items), ("unbiased", 0.0)):
        values = torch.stack([invariance_penalty(logits, row, penalty) for row in y])
        assert abs(values.mean() - truth) < 5 * values.std() / math.sqrt(batches)


def test_irm_averages_domains_and_switches():
    model, items = IRM(**FLAT, weight=7.0, weight_before=0.5, switch=0.25, generator=generator()), batch(12, (5,))
    items = Batch(*(values[:9] for values in items))  # 4, 4 and 1 of the three domains would leave no halves
    with refused("a step", "few"):
        model.losses(items, 0.0, generator())
    items = Batch(*(values[[0, 1, 2, 3, 4, 5, 8, 9]] for values in batch(12, (5,))))
    logits = model.class_logits(items.x)
    rows = [items.d == domain for domain in range(3)]
    risk = torch.stack([cross_entropy(logits[row], items.y[row]) for row in rows]).mean()
    penalty = torch.stack([invariance_penalty(logits[row], items.y[row]) for row in rows]).mean()
    for progress, weight in ((0.2, 0.5), (0.25, 7.0)):
        terms = model.losses(items, progress, generator())
        assert terms["objective"].item() == pytest.approx((risk + weight * penalty).item(), rel=1e-5)
    assert model.restart(20) == 5 and model.restart(10) == 3  # first step with step / steps >= 0.25
    assert ERM(**FLAT).restart(20) is None


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_settings_are_settings(name):
    kind, settings = PUBLISHED[name]
    config = MODELS[kind].Config.from_dict({"shape": (3, 96, 96), "classes": 2, "domains": 3} | settings)
    assert MODELS[kind].Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.slow  # torchvision's import and a DenseNet-121: 10 s
@pytest.mark.parametrize("kind", ["densenet121", "resnet18"])
def test_backbones_are_torchvisions(kind):
    """torchvision's own network with our weights gives our features; NVAE on them decodes as usual."""
    import torchvision

    setting = {"shape": (3, 64, 64), "classes": 2, "domains": 3, "network": {"kind": kind, "width": 4}}
    ours = ERM(**setting, generator=generator()).eval()
    with torch.random.fork_rng(devices=[]):
        theirs = getattr(torchvision.models, kind)(weights=None).eval()
    body = ours.encoder[0].features.state_dict()
    if kind == "densenet121":
        theirs.features.load_state_dict({name.removeprefix("0."): value for name, value in body.items()})
        theirs.classifier = torch.nn.Identity()
    else:
        names = [name for name, _ in theirs.named_children()]
        own = {f"{names[int(name.split('.')[0])]}.{name.split('.', 1)[1]}": value for name, value in body.items()}
        theirs.load_state_dict(own, strict=False)
        theirs.fc = torch.nn.Identity()
    x = batch(2, (3, 64, 64)).x
    with torch.no_grad():
        assert torch.allclose(ours.encoder[0](x), theirs(x), atol=1e-4)
        assert NVAE(**setting, generator=generator()).eval()(x).shape == (2, 2)
