"""Three generated example tables: spikes, genes and survey.

Nothing in them was measured. `TRUTH` names the target of each table and the columns
that depend on it. The module needs numpy and pandas alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from infoscope.checks import one_of


class Truth(NamedTuple):
    """What is true of a table.

    target    the target column
    relevant  columns that depend on the target
    direct    columns that made the target or were made from it; other relevant columns correlate with these
    groups    the column that names dependent rows; "" where rows are independent
    """

    target: str
    relevant: tuple[str, ...]
    direct: tuple[str, ...]
    groups: str = ""


TUNED = ("n01", "n02", "n03", "n04", "n05", "n06")
FIRST_MODULE = ("g01", "g02", "g03", "g04", "g05")
THIRD_MODULE = ("g11", "g12", "g13", "g14", "g15")
EXPRESSED = (*FIRST_MODULE, *THIRD_MODULE, "snp2")
ANSWERS = ("q1", "q2", "q3", "income")
TRUTH = {
    "spikes": Truth("orientation", TUNED, TUNED),
    "genes": Truth("phenotype", EXPRESSED, ("g03", "g13", "snp2")),
    "survey": Truth("satisfaction", ANSWERS, ANSWERS, "household"),
}


def spikes(seed: int = 0) -> pd.DataFrame:
    """Table of spike counts of 12 neurons in 600 trials, with ties and many zeros.

    trial        1, 2, ...; nothing changes over trials
    orientation  of a grating, degrees, 0 to 165 by 15: an axis, so 180 is 0 again
    contrast     0.1, 0.3 or 1, independent of the orientation
    n01 ... n06  Poisson counts tuned to an axis each, strongly (n01) to weakly (n06); higher with contrast
    n07, n08     counts that depend on contrast alone
    n09 ... n11  counts that depend on neither orientation nor contrast
    n12          silent

    All counts vary with the arousal of the trial.
    """
    generator = np.random.default_rng(seed)
    rows = 600
    orientation = 15 * generator.integers(0, 12, rows)
    contrast = generator.choice([0.1, 0.3, 1.0], rows)
    arousal = np.exp(0.2 * generator.normal(size=rows))
    rates = np.zeros((12, rows))
    for neuron, gain in enumerate((12, 8, 6, 5, 4, 3)):
        preferred = 30 * neuron
        angle = np.deg2rad(2 * (orientation - preferred))
        tuning = np.exp(2 * (np.cos(angle) - 1))
        response = gain * tuning * np.sqrt(contrast)
        rates[neuron] = 0.5 + response
    rates[6] = 4 * contrast
    rates[7] = 8 * contrast
    rates[8] = 0.3
    rates[9] = 2
    rates[10] = 9
    counts = generator.poisson(rates * arousal)
    trial = np.arange(1, rows + 1)
    table = pd.DataFrame({"trial": trial, "orientation": orientation})
    table["contrast"] = contrast
    return table.join(_columns("n{:02d}", counts))


def genes(seed: int = 0) -> pd.DataFrame:
    """Table of 300 samples: 40 genes in 8 modules of 5, genotypes and a phenotype.

    batch          a, b or c: shifts every measured expression a little, not the phenotype
    sex            f or m: shifts genes 21 to 25
    g01 ... g40    log expression, as measured; the genes of a module vary together
    snp1 ... snp6  genotypes: 0, 1 or 2 copies of the rarer allele; snp2 adds to the phenotype
    phenotype      a number made of g03, g13 and snp2; the other genes of their modules are redundant
    """
    generator = np.random.default_rng(seed)
    rows = 300
    batch = generator.integers(0, 3, rows)
    sex = generator.integers(0, 2, rows)
    modules = generator.normal(size=(rows, 8))
    noise = np.sqrt(1 - 0.85**2) * generator.normal(size=(rows, 40))
    common = np.repeat(modules, 5, axis=1)
    expression = 0.85 * common + noise
    frequencies = (0.2, 0.35, 0.5, 0.3, 0.1, 0.4)  # of the rarer alleles
    genotypes = generator.binomial(2, frequencies, (rows, 6))
    g03 = expression[:, 2]
    g13 = expression[:, 12]
    snp2 = genotypes[:, 1]
    phenotype = g03 + g13 + snp2 + 0.7 * generator.normal(size=rows)
    expression[:, 20:25] += 0.8 * sex[:, None]
    shifts = 0.3 * generator.normal(size=(3, 40))
    measured = expression + shifts[batch]
    batch = np.array(list("abc"))[batch]
    sex = np.array(list("fm"))[sex]
    table = pd.DataFrame({"batch": batch, "sex": sex})
    table = table.join(_columns("g{:02d}", measured.T))
    table = table.join(_columns("snp{}", genotypes.T))
    table["phenotype"] = phenotype
    return table


def survey(seed: int = 0) -> pd.DataFrame:
    """Table of the answers of 800 people of 200 households; a household is a group.

    household     a number; its four members share region, income and much of their satisfaction
    age           years, 18 to 90
    region        north, east, south or west: of no effect; p-values that ignore households are too small
    income        a year, of the household; two of three give a round number, a multiple of 5,000
    q1, q2, q3    answers of 1 to 5 about a service
    q4, q5, q6    answers of 1 to 5 about politics, which depend on one another alone
    q7, q8        answers of 1 to 5 at random
    satisfaction  0 to 10: with the service and, less, with income
    """
    generator = np.random.default_rng(seed)
    homes = 200
    rows = 800
    household = np.repeat(np.arange(homes), rows // homes)
    shared, logged = generator.normal(size=(2, homes))[:, household]
    exact = 30_000 * np.exp(0.5 * logged)
    is_rounded = generator.random(homes) < 2 / 3
    rounded = 5_000 * np.round(exact / 5_000)
    income = np.where(is_rounded[household], rounded, np.round(exact, -1))
    service, politics = generator.normal(size=(2, rows))
    latent = np.zeros((8, rows))  # questions that share an attitude
    latent[:3] = service
    latent[3:6] = politics
    noise = generator.normal(size=(8, rows))
    noise[:6] *= 0.6
    answers = np.clip(np.round(3 + latent + noise), 1, 5)
    causes = 5 + 1.2 * service + 0.9 * logged + 1.2 * shared
    satisfaction = np.round(causes + 0.8 * generator.normal(size=rows))
    age = generator.integers(18, 91, rows)
    region = generator.choice(["north", "east", "south", "west"], homes)
    table = pd.DataFrame({"household": household, "age": age})
    table["region"] = region[household]
    table["income"] = income.astype(int)
    table = table.join(_columns("q{}", answers.astype(int)))
    table["satisfaction"] = np.clip(satisfaction, 0, 10).astype(int)
    return table


def _columns(template: str, values: np.ndarray) -> pd.DataFrame:
    """A table of the rows of `values` as columns 1, 2, ... of a template of names."""
    table = pd.DataFrame(values.T)
    return table.rename(columns=lambda place: template.format(place + 1))


TABLES: dict[str, Callable[..., pd.DataFrame]] = {
    "genes": genes,
    "spikes": spikes,
    "survey": survey,
}


def load(name: str, seed: int = 0) -> pd.DataFrame:
    """The table of a name; UnknownName if there is none."""
    return TABLES[one_of("example", name, TABLES)](seed)


def relevant(name: str) -> tuple[str, ...]:
    """The columns of a table that depend on its target; UnknownName for no table."""
    return TRUTH[one_of("example", name, TRUTH)].relevant
