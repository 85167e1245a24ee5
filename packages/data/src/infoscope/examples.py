"""Three generated example tables, and what is true of them: spikes, genes, survey;
numpy and pandas alone.

Nothing in them was measured. `TRUTH` names the target of each and the columns that
depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from infoscope.errors import UnknownName


class Truth(NamedTuple):
    """What is true of a table.

    target    the target column
    relevant  columns that depend on it
    direct    those from which the target was made, or that were made from it; others are correlated with these
    groups    the column that names dependent rows; "" where rows are independent
    """

    target: str
    relevant: tuple[str, ...]
    direct: tuple[str, ...]
    groups: str = ""


def _numbered(name: str, *numbers: int) -> tuple[str, ...]:
    return tuple(f"{name}{number:02d}" for number in numbers)


TUNED = _numbered("n", *range(1, 7))
MODULES = _numbered("g", *range(1, 6), *range(11, 16))
ANSWERS = ("q1", "q2", "q3", "income")
TRUTH = {
    "spikes": Truth("orientation", TUNED, TUNED),
    "genes": Truth("phenotype", (*MODULES, "snp2"), ("g03", "g13", "snp2")),
    "survey": Truth("satisfaction", ANSWERS, ANSWERS, "household"),
}


def spikes(seed: int = 0) -> pd.DataFrame:
    """Responses of 12 neurons to a grating in 600 trials: spike counts, with ties and
    many zeros.

    trial        1, 2, ...; nothing changes over trials
    orientation  of the grating, degrees, 0 to 165 by 15: an axis, so 180 is 0 again
    contrast     0.1, 0.3 or 1, independent of the orientation
    n01 ... n06  Poisson counts tuned to an axis each, from sharply (n01) to hardly (n06); higher with contrast
    n07, n08     counts that depend on contrast alone
    n09 ... n11  counts that depend on neither; like those before, they vary with the arousal of the trial
    n12          silent
    """
    generator = np.random.default_rng(seed)
    rows = 600
    orientation = 15 * generator.integers(0, 12, rows)
    contrast = generator.choice([0.1, 0.3, 1.0], rows)
    arousal = np.exp(0.2 * generator.normal(size=rows))
    rates = np.zeros((12, rows))
    gains = (12, 8, 6, 5, 4, 3)
    for neuron, gain in enumerate(gains):
        preferred = 30 * neuron
        angle = np.deg2rad(2 * (orientation - preferred))
        tuning = np.exp(2 * (np.cos(angle) - 1))
        rates[neuron] = 0.5 + gain * tuning * np.sqrt(contrast)
    rates[6:8] = np.multiply.outer((4, 8), contrast)
    rates[8:11] = np.array([[0.3], [2], [9]])
    counts = generator.poisson(rates * arousal)
    table = {
        "trial": np.arange(1, rows + 1),
        "orientation": orientation,
        "contrast": contrast,
    }
    for number, column in enumerate(counts, 1):
        table[f"n{number:02d}"] = column
    return pd.DataFrame(table)


def genes(seed: int = 0) -> pd.DataFrame:
    """300 samples of 40 genes in 8 modules of 5 that vary together, genotypes, batch
    and sex, and a phenotype.

    batch          a, b or c: shifts every measured expression a little, not the phenotype
    sex            f or m: shifts genes 21 to 25
    g01 ... g40    log expression, as measured
    snp1 ... snp6  genotypes: 0, 1 or 2 copies of the rarer allele; snp2 adds to the phenotype
    phenotype      a number made of g03, g13 and snp2; the other genes of their modules are redundant
    """
    generator = np.random.default_rng(seed)
    rows = 300
    batch = generator.integers(0, 3, rows)
    sex = generator.integers(0, 2, rows)
    modules = generator.normal(size=(rows, 8))
    noise = np.sqrt(1 - 0.85**2) * generator.normal(size=(rows, 40))
    expression = 0.85 * np.repeat(modules, 5, axis=1) + noise
    genotypes = generator.binomial(2, (0.2, 0.35, 0.5, 0.3, 0.1, 0.4), (rows, 6))
    causes = expression[:, 2] + expression[:, 12] + genotypes[:, 1]
    phenotype = causes + 0.7 * generator.normal(size=rows)
    expression[:, 20:25] += 0.8 * sex[:, None]
    shifts = 0.3 * generator.normal(size=(3, 40))
    measured = expression + shifts[batch]
    table = {
        "batch": np.array(["a", "b", "c"])[batch],
        "sex": np.array(["f", "m"])[sex],
    }
    for number, column in enumerate(measured.T, 1):
        table[f"g{number:02d}"] = column
    for number, column in enumerate(genotypes.T, 1):
        table[f"snp{number}"] = column
    table["phenotype"] = phenotype
    return pd.DataFrame(table)


def survey(seed: int = 0) -> pd.DataFrame:
    """800 people of 200 households who answer a survey; rows of a household depend on
    one another.

    household     a number; its four members share region, income and much of their satisfaction
    age           years, 18 to 90
    region        north, east, south or west: of no effect; p-values that ignore households are too small
    income        a year, of the household; two of three give a round number, a multiple of 5,000
    q1, q2, q3    answers of 1 to 5 about a service
    q4, q5, q6    answers of 1 to 5 about politics, which have to do with one another alone
    q7, q8        answers of 1 to 5 at random
    satisfaction  0 to 10: with the service and, less, with income
    """
    generator = np.random.default_rng(seed)
    homes = 200
    rows = 800
    household = np.repeat(np.arange(homes), rows // homes)
    shared, logged = generator.normal(size=(2, homes))[:, household]
    exact = 30_000 * np.exp(0.5 * logged)
    is_rounded = (generator.random(homes) < 2 / 3)[household]
    rounded = 5_000 * np.round(exact / 5_000)
    income = np.where(is_rounded, rounded, np.round(exact, -1))
    service, politics = generator.normal(size=(2, rows))
    latent = np.zeros((8, rows))  # questions that share an attitude
    latent[:3] = service
    latent[3:6] = politics
    noise = generator.normal(size=(8, rows))
    noise[:6] *= 0.6
    answers = np.clip(np.round(3 + latent + noise), 1, 5)
    causes = 5 + 1.2 * service + 0.9 * logged + 1.2 * shared
    satisfaction = np.round(causes + 0.8 * generator.normal(size=rows))
    table = {
        "household": household,
        "age": generator.integers(18, 91, rows),
        "region": generator.choice(["north", "east", "south", "west"], homes)[
            household
        ],
        "income": income.astype(int),
    }
    for number, column in enumerate(answers.astype(int), 1):
        table[f"q{number}"] = column
    table["satisfaction"] = np.clip(satisfaction, 0, 10).astype(int)
    return pd.DataFrame(table)


TABLES: dict[str, Callable[..., pd.DataFrame]] = {
    "genes": genes,
    "spikes": spikes,
    "survey": survey,
}


def load(name: str, seed: int = 0) -> pd.DataFrame:
    """The table of a name. InfoscopeError: an unknown one."""
    _require_example(name)
    return TABLES[name](seed)


def relevant(name: str) -> tuple[str, ...]:
    """The columns of a table that depend on its target. InfoscopeError: an unknown
    name.
    """
    _require_example(name)
    return TRUTH[name].relevant


def _require_example(name: str) -> None:
    if name not in TABLES:
        raise UnknownName(f"example must be one of {', '.join(TABLES)}, got {name!r}.")
