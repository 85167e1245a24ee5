"""Every figure of several panels, drawn and read back: colours, markers, legend and ticks.

The frames are made up so that panels differ in what they hold and in the order of their rows, which is what colours
must not depend on.
"""

import functools
import itertools
import re
import types
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from analysis.common import marks, searches
from analysis.common.figures import draw_unseen, finish, grid_panels, panels
from analysis.disentanglement import _figures, toy_model
from analysis.mi_benchmark import (
    critic_architecture,
    critic_capacity,
    embedding_networks,
    estimator_choice,
    information_sources,
    layer_dependency,
    nuisance,
    representation_dimension,
    tune_critic,
)
from analysis.partition import _figures as partition_drawings
from analysis.partition import domain_partition
from analysis.sample_estimators import known_laws, verdicts
from analysis.usable_information import _items, _studies, label_errors, structure_learning

BOUNDS = marks.NAMES["bound"][:8]
FOLDER = Path(critic_capacity.__file__).parents[1]


def part_of(names, number):
    """Other names, in another order, for every panel."""
    names = [*names[number:], *names[:number]]
    return names[: max(2, len(names) - number)]


def made_up(row, places, column, names, x, values, turned=False):
    """A frame with a line for every name over a panel's x; panels differ in their names and the order of them.

    turned: all of it in reverse, and without the first place's last name.
    """
    rows = []
    for number, place in enumerate(places):
        for name, (at, to) in itertools.product(part_of(names, number), enumerate(values)):
            level = 1 + [*names].index(name)
            rows.append(row | place | {column: name, x: to, "level": level, "at": at})
    frame = pd.DataFrame(rows)
    return frame[::-1].iloc[len(values) :].reset_index(drop=True) if turned else frame


def neural(places, x, values, draw, ylabel, grid=None, column="bound", names=BOUNDS, turned=False, span=30.0):
    """A figure of the neural benchmark as a function of its paths."""
    frame = made_up({"true_bits": 2.0}, places, column, names, x, values, turned)
    error = frame["level"] / 10 * span ** (frame["at"] / len(values))
    estimate = frame["true_bits"] * (1 - frame["level"] / 20)
    known = {"mse_bits2": error, "settled_mse_bits2": error / 2, "floor_mse_bits2": 0.08, "decodable_bits": 1.8}
    known |= {"published_mse_bits2": error, "mean_bits": estimate, "settled_mean_bits": estimate, "ratio": estimate / 2}
    known |= {"held_out_bits": estimate - 0.1, "published_mean_bits": estimate, "accuracy": 0.9, "least_bits": 1.9}
    known |= {f"{name}_error": 0.02 for name in (*known, "decodable_bits")}
    for name, value in known.items():
        frame[name] = frame.get(name, value)
    return functools.partial(*((grid_panels, frame, *grid) if grid else (panels, frame)), draw, ylabel)


DOMAINS = [{"domain": name, "pool": pool} for name, pool in
           (("gaussian", "gaussian"), ("images", "mnist"), ("text", "imdb-bert"))]  # fmt: skip
BITS = [2.0, 4.0, 6.0, 8.0, 10.0]


def crossed(**fields):
    return [dict(zip(fields, values)) for values in itertools.product(*fields.values())]


def capacity(size, values, turned):
    places = [place | {"critic": critic} for place in DOMAINS for critic in ("joint", "separable")]
    draw = functools.partial(critic_capacity.draw_estimators, size)
    return neural(places, size, values, draw, "MSE (bits²)", turned=turned)


def of_levels(turned):
    pools = [{"pool": name} for name in ("mnist-0-1", "mnist", "cifar10", "imdb-bert")]
    names = marks.NAMES["contestant"][:5]
    frame = made_up({}, pools, "method", names, "truth", [0.1, 0.3, 0.6], turned)
    return functools.partial(known_laws.draw_levels, frame.assign(bias=frame["level"] / 100))


def of_biases(turned):
    """Three laws: a figure as low as that of a smoke profile."""
    laws = [{"collection": "everyday", "law": law, "method": method, "n": 1000, "bias": 0.1 * place - 0.2,
             "intervals": 3, "covered": 3 - place}
            for law in ("patients", "sparse-table", "parity-of-signs")
            for place, method in enumerate(("gcmi", "ksg", "shrinkage"))]  # fmt: skip
    return functools.partial(known_laws.draw_biases, pd.DataFrame(laws[::-1] if turned else laws))


def of_methods(turned):
    cases = [{"case": "hub"}, {"case": "star 10"}, {"case": "folder/star 20"}]
    frame = made_up({}, cases, "method", marks.NAMES["method"], "n", [50, 100, 200, 500, 1000, 2000], turned)
    return functools.partial(
        structure_learning.draw, frame.assign(wrong=frame["level"] / 10, wrong_error=0.01), "trees"
    )


def of_lengths(turned):
    rows = [
        {"data": data, "label": label, "length": length, "mean_bits": place / 4, "standard_error_bits": 0.02, "n": 500}
        for data, labels in (("snli", ("neutral", "entailment", "contradiction", "all")),
                             ("cola", ("all", "unacceptable", "acceptable")), ("sst2", ("positive", "negative")))
        for place, label in enumerate(labels) for length in (5, 10, 20)
    ]  # fmt: skip
    frame = pd.DataFrame(rows[::-1] if turned else rows)
    return functools.partial(_items.draw_lines, frame, "length", "length (tokens)")


def of_rights(turned):
    rng, tables = np.random.default_rng(0), {}
    for data, labels in (
        ("snli", ("neutral", "entailment", "contradiction")),
        ("cola", ("acceptable", "unacceptable")),
    ):
        rows = [{"pvi_bits": bits, "label": label, "correct": bool(right), "H_yb": 1.0 + 0.5 * (len(labels) == 3),
                 "predicted": label}
                for label in (labels[::-1] if turned else labels)
                for bits, right in zip(rng.normal(0.4, 0.8, 200), rng.random(200) > 0.3)]  # fmt: skip
        tables[data] = pd.DataFrame(rows)
    tables = dict(reversed(tables.items())) if turned else tables
    return functools.partial(_items.draw_right, tables)


def of_epochs(turned):
    curves = [("snli", "small-bert"), ("cola", "small-bert"), ("cola", "tfidf-logistic"), ("mnli", "small-bert")]
    rows = [
        {"data": data, "family": family, "epoch": epoch, "v_information_bits": 0.2 + 0.1 * place,
         "v_information_bits_error": 0.02, "accuracy": 0.6 + 0.05 * place, "accuracy_error": 0.01}
        for place, (data, family) in enumerate(curves) for epoch in (1, 2, 3, 5, 10)
    ]  # fmt: skip
    frame = pd.DataFrame(rows[::-1][5:] if turned else rows)
    return functools.partial(_studies.draw_epochs, frame.sort_values("epoch", kind="stable"))


def of_label_errors(turned):
    places = crossed(data=["snli", "cola", "imdb-bert"], noise=["symmetric"]) + crossed(data=["mnist"], noise=["pair"])
    frame = made_up({}, places, "score", list(label_errors.SCORES), "rate", [0.05, 0.1, 0.2], turned)
    frame = frame.assign(average_precision=frame["level"] / 9, average_precision_error=0.02)
    return functools.partial(label_errors.draw_settings, frame)


def of_data_maps(turned):
    rng = np.random.default_rng(0)
    columns = {name: rng.random(60) for name in ("variability", "confidence", "pvi_bits")}
    table = pd.DataFrame(columns | {"label": "a $ sign", "predicted": "b"})
    tables = {"digits": table, "sst2": table.assign(text="costs $5 & more than $4_x " * 9)}
    if turned:
        tables = dict(reversed(tables.items()))
    return functools.partial(label_errors.draw_maps, tables, {"digits": np.zeros((10, 8, 8), np.uint8)})


def of_attacks(turned):
    titles = {"beta_vae": "BetaVAE", "factor_vae": "FactorVAE", "mig": "MIG", "unibound": "UniBound",
              "informativeness": "I(y; z) / H(y)"}  # fmt: skip
    titles = dict(reversed(titles.items())) if turned else titles
    places = crossed(name=["beta-vae", "joint-vae"], training_seed=[3], attack=["redundancy", "synergy"])
    frame = made_up({}, places, "score", list(titles), "alpha", [0.0, 1.0, 2.0, 4.0])
    frame = frame.assign(mean=frame["level"] / 6, mean_error=0.02)
    return functools.partial(_figures.attacks, frame, titles)


def of_toys(turned):
    places = crossed(attack=["redundancy", "synergy"], score=list(toy_model.SCORES))
    frame = made_up({}, places, "factors", [2, 3, 4, 5, 7, 12], "alpha", [0.5, 1.0, 3.0, 8.0], turned)
    shown = frame.assign(exact=frame["level"] / 3, estimated=frame["level"] / 3, estimated_error=0.03)
    return functools.partial(toy_model.draw, shown.assign(printed=shown["exact"] + 0.1 * (shown["factors"] < 4)))


def of_domains(turned):
    rows = [
        {"held_out_name": held, "model": model, "in_domain/average": 0.9 - place / 50, "in_domain/average_error": 0.01,
         "out_of_domain/average": 0.7 + place / 50, "out_of_domain/average_error": 0.01}
        for held in ("0 degrees", "75 degrees") for place, model in enumerate(part_of(marks.NAMES["model"], held > "5"))
        for _ in range(3)
    ]  # fmt: skip
    return functools.partial(domain_partition.draw, pd.DataFrame(rows[::-1][3:] if turned else rows))


def of_partitions(turned):
    def evaluation(kind, seed):
        values = {name: types.SimpleNamespace(value=0.3 + 0.1 * seed, low=0.2, high=0.8)
                  for name in partition_drawings.PANELS if not (kind == "erm" and "z_d" in name)}  # fmt: skip
        ceilings = {partition_drawings.most(name): types.SimpleNamespace(value=1.0) for name in values}
        route = ceilings | values
        return types.SimpleNamespace(candidate=types.SimpleNamespace(kind=kind),
                                     routes=lambda: {partition_drawings.CLASSIFIER: route})  # fmt: skip

    kinds = ["nvae", "diva", "nvae draws", "erm", "dann"]
    kinds = kinds[::-1][1:] if turned else kinds
    evaluations = [evaluation(kind, seed) for kind in kinds for seed in (0, 1)]
    return functools.partial(partition_drawings.scores, evaluations)


def of_boxes(turned):
    rng = np.random.default_rng(0)
    columns = [f"evaluation {k}/{name}" for k in range(3) for name in _figures.SCORES]
    runs = {name: pd.DataFrame(rng.random((4, len(columns))), columns=columns)
            for name in (("factor-vae", "beta-vae", "ae") if turned else ("beta-vae", "factor-vae"))}  # fmt: skip
    return functools.partial(_figures.boxes, runs, _figures.SCORES)


def of_bars(turned):
    rows = [
        {"where": where, "name": name, "term": term, "low": 0.2, "high": 0.5, "low_error": 0.01, "high_error": 0.02}
        for where in ("as published", "at one latent") for name in ("beta-vae", "factor-vae", "ae (biased)")
        for term in _figures.TERMS
    ]  # fmt: skip
    return functools.partial(_figures.bars, pd.DataFrame(rows[::-1] if turned else rows))


def of_trainings(turned):
    columns = [f"evaluation {k}/{name}" for k in range(3) for name in _figures.PUBLISHED]
    runs = pd.DataFrame(np.random.default_rng(0).random((4, len(columns))), columns=columns)
    runs = runs.assign(name="beta-vae", seed=range(4))
    return functools.partial(_figures.each_training, runs[::-1] if turned else runs)


def of_search(turned):
    rng = np.random.default_rng(0)
    ends = [searches.COMPLETE, searches.STOPPED] * 10
    trials = pd.DataFrame({"weight": 10 ** rng.uniform(0, 2, 20), "rate": 10 ** rng.uniform(-4, -3, 20),
                           "judged": rng.random(20), "outcome": ends})  # fmt: skip
    settings = {"weight": "weight", "rate": "learning rate"}
    return functools.partial(searches.scatter, trials[::-1] if turned else trials, settings, "judged", "accuracy")


def of_critic_search(turned):
    rng = np.random.default_rng(0)
    trials = pd.DataFrame({
        "bound": [*BOUNDS, *BOUNDS], "learning_rate": 10 ** rng.uniform(-4, -2, 16), "width": [64, 256] * 8,
        "depth": [1, 2, 3, 4] * 4, "batch": [64, 128] * 8, "settled_mse_bits2": rng.random(16) / 5 + 0.1,
        tune_critic.JUDGED: rng.random(16) / 5 + 0.1,
        "outcome": [searches.COMPLETE, searches.STOPPED] * 8,
    })  # fmt: skip
    return functools.partial(tune_critic.scatter, trials[::-1] if turned else trials)


def of_curves(turned):
    runs = pd.DataFrame(crossed(critic=["separable", "joint"], bound=["dv", "nwj"])).assign(run_id="any", batch=64)
    return functools.partial(critic_architecture.curves, runs[::-1] if turned else runs)


def of_verdicts(turned):
    rows = [{"law": f"law {number}", "sets": 20, "covered": 15, "reliable": 10, "wrong": 1,
             "by_drift": 12 * (number > 0), "wrong_by_drift": 3} for number in range(6)]  # fmt: skip
    return functools.partial(verdicts.draw, pd.DataFrame(rows[::-1] if turned else rows))


def of_layers(turned):
    places = crossed(truth=["2 bits", "4 bits"])
    names = [f"layer{block}.{unit}" for block in range(3) for unit in range(2)]
    drawn = neural(places, "layer_index", range(6), layer_dependency.draw_layers, "bits", ("bound", "truth"),
                   names=("dv", "smile-5"), turned=turned)  # fmt: skip
    frame = drawn.args[0]
    frame["layer"] = [names[at] for at in frame["at"]]
    return drawn


SEVERAL = {  # name -> (turned) -> draw(*paths)
    "capacity by depth": lambda turned: neural(
        DOMAINS, "depth", [1, 2, 3, 4, 5], critic_capacity.draw_depths, "MSE (bits²)", names=BOUNDS[:1], turned=turned
    ),
    "capacity by estimator": functools.partial(capacity, "depth", [1, 2, 3, 4, 5]),
    "capacity by width": functools.partial(capacity, "width", [16, 64, 256]),
    "architecture": lambda turned: neural(
        crossed(place=["gaussian", "images"], bound=["dv", "smile-5"]), "true_bits", BITS,
        critic_architecture.draw_mse, "MSE (bits²)", ("place", "bound"), "critic", marks.NAMES["critic"], turned,
    ),
    "architecture, curves": of_curves,
    "unseen": lambda turned: neural(DOMAINS, "true_bits", BITS, draw_unseen, "estimate (bits)", turned=turned),
    "unseen, grid": lambda turned: neural(
        crossed(domain=["images", "text"], name=["a", "b"]), "true_bits", BITS, draw_unseen, "estimate (bits)",
        ("domain", "name"), turned=turned,
    ),
    "embedding networks": lambda turned: neural(
        crossed(pool=["imdb-bert", "imdb-roberta"], critic=["joint", "separable"]), "true_bits", BITS,
        embedding_networks.draw_network, "estimate (bits)", ("pool", "critic"), turned=turned,
    ),
    "choice, MSE": lambda turned: neural(
        DOMAINS, "true_bits", BITS, estimator_choice.draw_mse, "MSE (bits²)", turned=turned, span=1.5
    ),
    "choice, truths": lambda turned: neural(
        DOMAINS, "true_bits", BITS, estimator_choice.draw_truths, "estimate (bits)", turned=turned
    ),
    "sources": lambda turned: neural(
        crossed(panel=["2 bits", "as published"], domain=["gaussian", "images", "text"]), "sources",
        [1, 4, 9, 16, 25, 100], information_sources.draw_ratio, "mean / truth", ("panel", "domain"), turned=turned,
    ),
    "layers, encoders": lambda turned: neural(
        crossed(domain=["images", "text"], name=["realnvp 2", "maf 4"]), "true_bits", BITS,
        layer_dependency.draw_encoder, "estimate (bits)", ("domain", "name"), turned=turned,
    ),
    "layers": of_layers,
    "nuisance": lambda turned: neural(
        crossed(pool=["mnist", "digits"], truth=["2 bits", "10 bits"]), "nuisance", [0.0, 0.25, 0.5, 0.75, 1.0],
        nuisance.draw_strength, "estimate (bits)", ("pool", "truth"), turned=turned,
    ),
    "dimension": lambda turned: neural(
        DOMAINS[:2], "dimension", [100, 400, 2500, 10_000], representation_dimension.draw_sides, "estimate (bits)",
        turned=turned,
    ),
    "levels": of_levels,
    "structure": of_methods,
    "difficulty by length": of_lengths,
    "right and wrong": of_rights,
    "epochs": of_epochs,
    "label errors": of_label_errors,
    "data maps": of_data_maps,
    "attacks": of_attacks,
    "toy model": of_toys,
    "domains": of_domains,
    "partitions": of_partitions,
    "boxes": of_boxes,
    "bounds": of_bars,
    "trainings": of_trainings,
    "search": of_search,
    "critic search": of_critic_search,
    "verdicts": of_verdicts,
}  # fmt: skip
MAPS = {"biases": of_biases}  # of colours that are no names


@pytest.fixture
def drawn(monkeypatch, trace_of, tmp_path):
    """A function: name of a figure -> the figure as it was saved."""
    kept = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *given, **settings: kept.append(self))

    def draw(name, turned=False):
        (SEVERAL | MAPS)[name](turned)(tmp_path / "figure.png")
        assert kept
        return kept.pop()

    return draw


def look(handle):
    """Colour, marker, filling and line of what a legend shows."""
    line = handle[0] if isinstance(handle, tuple) else handle  # of an error bar: its line
    if hasattr(line, "get_marker"):
        return to_hex(line.get_color()), str(line.get_marker()), line.get_fillstyle(), line.get_linestyle()
    patch = line.patches[0] if hasattr(line, "patches") else line
    return to_hex(patch.get_facecolor(), keep_alpha=True), "", "", ""


def looks(figure):
    """Label -> how it looks, one for all panels."""
    found = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            found.setdefault(label, set()).add(look(handle))
    return found


@pytest.mark.parametrize("name", SEVERAL)
def test_a_name_looks_the_same_in_every_panel_and_no_two_names_alike(drawn, name):
    """Also in a figure whose rows come in reverse and where some names are missing."""
    found, turned = looks(drawn(name)), looks(drawn(name, turned=True))
    for label in found | turned:
        assert len(found.get(label, set()) | turned.get(label, set())) == 1, label
    seen = [look for looks_of in found.values() for look in looks_of]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("name", SEVERAL)
def test_one_legend_holds_for_all_panels(drawn, name):
    figure = drawn(name, turned=True)
    shown = looks(figure)
    assert not any(axis.get_legend() for axis in figure.axes)
    if not shown:  # what is not named needs no legend: it is under its place on the axis
        assert not figure.legends
        return
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*dict.fromkeys(shown)]
    for text, handle in zip(legend.get_texts(), legend.legend_handles):
        ((colour, *_),) = shown[text.get_text()]
        line = next(
            (one for one in (handle, *getattr(handle, "get_children", list)()) if hasattr(one, "get_color")), None
        )
        assert colour.startswith(to_hex(line.get_color() if line else handle.get_facecolor())), text.get_text()


@pytest.mark.parametrize("name", SEVERAL)
def test_ticks_can_be_read(drawn, name):
    """Logarithmic axes have two labels or more, and no labels of an axis are one over another."""
    figure = drawn(name)
    figure.draw_without_rendering()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if not axes.axison or not axes.get_visible():
                continue
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_ticklabels() if tick.get_visible() and tick.get_text()]
            places = [value for value, text in zip(axis.get_ticklocs(), axis.get_ticklabels()) if text.get_text()]
            if axis.get_scale() == "log" and ticks:
                assert sum(low <= place <= high for place in places) >= 2, axes.get_title()
            turned = any(tick.get_rotation() not in (0, 90) for tick in ticks)
            boxes = [tick.get_window_extent() for tick in ticks]
            side = (lambda box: (box.x0, box.x1)) if axis is axes.xaxis else (lambda box: (box.y0, box.y1))
            spans = sorted(map(side, boxes))
            assert turned or all(one[1] <= other[0] for one, other in itertools.pairwise(spans)), axes.get_title()


@pytest.mark.parametrize("name", SEVERAL | MAPS)
def test_words_are_within_the_figure(drawn, name):
    """Titles, labels of axes and of colour bars, and what is said in a panel: nothing is cut off."""
    figure = drawn(name)
    figure.draw_without_rendering()
    edge = figure.bbox
    for axes in figure.axes:
        words = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts] if axes.axison else axes.texts
        for text in words:
            box = text.get_window_extent()
            if text.get_text() and text.get_visible():
                assert edge.x0 - 1 <= box.x0 and box.x1 <= edge.x1 + 1, text.get_text()
                assert edge.y0 - 1 <= box.y0 and box.y1 <= edge.y1 + 1, text.get_text()


def test_a_grid_names_its_numbers_and_its_empty_places(drawn, monkeypatch):
    """A panel of eta 0.2 says so; a place without runs is not a title above nothing."""
    rows = crossed(pool=["mnist"], nuisance=[0.0, 0.2]) + crossed(pool=["digits"], nuisance=[0.2])
    frame = made_up({}, rows, "bound", BOUNDS[:2], "true_bits", BITS)
    frame = frame.assign(settled_mean_bits=1.0, held_out_bits=0.9, held_out_bits_error=0.1)
    monkeypatch.setitem(
        SEVERAL, "eta", lambda turned: functools.partial(grid_panels, frame, "pool", "nuisance", draw_unseen, "bits")
    )
    axes = drawn("eta").axes
    assert [axis.get_title() for axis in axes] == [f"nuisance {eta}, {pool}" for pool in ("mnist", "digits")
                                                   for eta in ("0", "0.2")]  # fmt: skip
    assert [[text.get_text() for text in axis.texts] for axis in axes] == [[], [], ["no runs"], []]
    hollow = [line.get_fillstyle() for line in axes[0].lines if line.get_linestyle() == "--"]
    assert hollow == ["none", "none"] and "hollow" in axes[0].get_xlabel()


@pytest.mark.parametrize(
    ("draw", "x", "column"),
    [(representation_dimension.draw_sides, "dimension", "published_mean_bits"),
     (estimator_choice.draw_mse, "true_bits", "published_mse_bits2")],
)  # fmt: skip
def test_an_axis_speaks_of_the_paper_only_where_it_is_drawn(draw, x, column):
    frame = made_up({"true_bits": 2.0}, [{}], "bound", BOUNDS[:2], x, [100, 400])
    known = {name: 1.0 for name in ("mean_bits", "mse_bits2", "decodable_bits", "mean_bits_error", "mse_bits2_error")}
    for value, said in ((1.0, True), (np.nan, False)):
        axis = Figure().subplots()
        draw(axis, frame.assign(**known | {column: value}))
        assert ("dashed: paper" in axis.get_xlabel()) is said


def test_the_lowest_panel_of_every_column_names_its_models(drawn):
    """Thirteen scores in four columns: three of the lowest have nothing below them."""
    figure = drawn("boxes")
    figure.draw_without_rendering()
    shown = [axis for axis in figure.axes if axis.axison]
    assert len(shown) % 4
    for axis in shown[-4:]:
        assert [tick.get_text() for tick in axis.get_xticklabels() if tick.get_visible()] == ["beta-vae", "factor-vae"]


def test_what_is_said_in_a_panel_has_as_many_lines_as_it_needs():
    figure = Figure(figsize=(2.6, 2.2), layout="constrained")
    axis = figure.subplots()
    axis.plot(np.arange(100), np.full(100, 50.0), label="average, span 200")
    axis.set_ylim(0, 3)
    finish(axis)
    (text,) = axis.texts
    figure.draw_without_rendering()
    axis.plot(np.arange(4000), np.r_[np.full(3997, 50.0), 1, 1, 1], label="average, span 2,000")
    finish(axis)
    assert all(one.get_window_extent().width <= axis.bbox.width for one in axis.texts)
    assert text.get_text() == "average, span 200: all outside,\nmedian 50"


def test_rows_are_drawn_in_the_colour_of_their_own_name(drawn):
    """By the values: the line at the level of an estimator has its mark, in every panel."""
    figure = drawn("capacity by estimator")
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            bound = label.rpartition(" ")[2]
            assert handle[0].get_ydata()[0] == pytest.approx((1 + BOUNDS.index(bound)) / 10)
            assert look(handle)[:2] == marks.mark("bound", bound)[:2] or look(handle)[0] == marks.mark(
                "bound", bound).color.lower()  # fmt: skip


def test_every_module_that_draws_several_panels_is_here():
    """A new figure must be added above; a colour by its place in the order of drawing is none."""
    draws = r"\b(subplots|drawn_in|(grid_)?panels)\(|partial\((grid_)?panels"
    drawing = {path.stem for path in FOLDER.glob("*/*.py") if re.search(draws, path.read_text())}
    single = {"advise", "coverage", "dataset_difficulty", "usable_leakage"}  # one panel
    helpers = {"_benchmark", "figures", "_runs"}
    imported = {name for name, module in globals().items() if isinstance(module, types.ModuleType)}
    assert drawing - single - helpers <= imported
    for path in FOLDER.glob("*/*.py"):
        assert not re.search(r"""["']C\d["']|f["']C\{""", path.read_text()), path.name


def test_figures_are_written_in_one_place():
    """`marks.save`: as PNG and as PDF, with ticks that can be read."""
    writing = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py") if "savefig(" in path.read_text()}
    assert writing == {"common/marks.py"}


@pytest.mark.parametrize("name", SEVERAL)
def test_colours_are_those_of_the_palette_or_grey(drawn, name):
    """Also what no legend names."""
    figure = drawn(name)
    shown = {to_hex(line.get_color()) for axes in figure.axes for line in axes.lines}
    shown |= {to_hex(patch.get_facecolor()) for axes in figure.axes for patch in axes.patches}
    for axes in figure.axes:
        for cloud in axes.collections:
            if cloud.get_array() is None:  # of a colour map, else
                shown |= {to_hex(colour) for colour in (*cloud.get_facecolor(), *cloud.get_edgecolor())}
    grey = {colour for colour in shown if len(set(to_rgb(colour))) == 1}
    assert shown - grey <= {colour.lower() for colour in marks.COLOURS}


MATRICES = {  # of Machado, Oliveira & Fernandes 2009, full severity, on linear light
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def lab(colour, seen=None):
    """CIE L*a*b* (D65) of a colour, as somebody sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = linear if seen is None else np.clip(np.array(MATRICES[seen]) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    f = np.where((t := xyz / [0.9505, 1, 1.089]) > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", [None, *MATRICES])
def test_colours_can_be_told_apart(seen):
    """A distance of 2 is just noticeable side by side; markers tell as well."""
    apart = [np.linalg.norm(lab(a, seen) - lab(b, seen)) for a, b in itertools.combinations(marks.COLOURS, 2)]
    assert min(apart) > 10


def test_marks_go_by_the_name_alone():
    for of, names in marks.NAMES.items():
        given = [marks.mark(of, name) for name in names]
        assert len(set(given)) == len(given)
        others = [marks.mark(of, f"other {number}") for number in range(30)]
        assert not set(others) & set(given)
        assert others == [marks.mark(of, f"other {number}") for number in range(30)]


@pytest.mark.parametrize(
    ("low", "high"), [(0.1, 10), (0.03, 0.2), (0.3, 0.9), (1.1, 1.4), (3e-5, 2e6), (100, 10_000), (0.12, 0.13)]
)
def test_a_logarithmic_axis_has_round_ticks_and_not_too_many(low, high):
    ticks = marks.log_ticks(low, high)
    assert 2 <= len(ticks) <= 8 and ticks == sorted(ticks)
    assert low <= min(ticks) and max(ticks) <= high
    assert all(float(f"{tick:.3g}") == pytest.approx(tick) for tick in ticks)


def test_ticks_are_written_alike():
    assert marks.written([0.0001, 0.03, 0.5, 1.0, 20.0, 1500.0, 10_000.0]) == [
        "0.0001", "0.03", "0.5", "1", "20", "1,500", "10,000",
    ]  # fmt: skip
    assert marks.written([3e-5, 1.0, 1e6]) == [r"$3 \cdot 10^{-5}$", "$10^{0}$", "$10^{6}$"]


def test_a_panel_of_a_number_says_of_what(tmp_path):
    titles = []
    rows = pd.DataFrame({"size": [10, 20], "pool": ["mnist", "mnist"]})
    draw = lambda axis, part: titles.append(axis.get_title()) or axis.plot([0, 1], [0, 1])  # noqa: E731
    grid_panels(rows, "pool", "size", draw, "estimate (bits)", tmp_path / "panels.png")
    assert titles == ["size 10, mnist", "size 20, mnist"]
