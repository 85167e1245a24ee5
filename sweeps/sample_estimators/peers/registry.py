"""The peers by name. NeuralMI is not included, because it is in no package index."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from infoscope.estimators.arrays.protocol import ANY, NUMBERS, NUMBERS_OR_LABELS
from sweeps.sample_estimators.peers.protocol import OURS, Peer

_NEIGHBOURS, _JAX, _TORCH = "neighbours", "jax", "torch"
_KSG = "Kraskov, Stögbauer & Grassberger 2004, eq. 8"
_COLUMNS = "sum of I(column; y), which is I only for one column"
_BMI = "benchmark-mi (Czyż et al. 2023)"
_MIST = "torch-mist (Federici et al. 2023)"

_ALL = (
    Peer(
        "npeet-plus", NUMBERS_OR_LABELS, "I of numbers; |I| of labels", "n log n, 1 s",
        f"npeet-plus (Ver Steeg, Buchard): {_KSG}; of labels |H(x) - H(x | y)| by Kozachenko & Leonenko 1987",
        "npeet-plus", _NEIGHBOURS,
    ),
    Peer(
        "npeet-plus-bootstrap", NUMBERS_OR_LABELS, "I of numbers; |I| of labels",
        "1,000 times that of npeet-plus, 20 minutes",
        "npeet-plus (Ver Steeg, Buchard): mi_confidence_interval, percentiles of resamples with replacement",
        "npeet-plus", _NEIGHBOURS, timeout=3600.0,
    ),
    Peer(
        "infomeasure", NUMBERS, "I", "n log n, 1 s", f"infomeasure (Büth et al. 2025): {_KSG}",
        "infomeasure", _NEIGHBOURS,
    ),
    Peer(
        "ennemi-sum", NUMBERS_OR_LABELS, _COLUMNS, "n log n, 1 s",
        f"ennemi (Laarne et al. 2021): {_KSG}; of labels Ross 2014",
        "ennemi", _NEIGHBOURS, one_column=True,
    ),
    Peer(
        "sklearn-sum", NUMBERS_OR_LABELS, _COLUMNS, "n log n, 1 s",
        f"scikit-learn (Pedregosa et al. 2011): {_KSG}; of labels Ross 2014",
        "scikit-learn", OURS, one_column=True,
    ),
    Peer(
        "bmi-ksg", NUMBERS, "I", "n², 15 s", f"{_BMI}: {_KSG}, k = 5 and 10",
        "benchmark-mi", _JAX,
    ),
    Peer(
        "bmi-cca", NUMBERS, "I of normal distributions, otherwise a lower bound or neither", "n, 1 s",
        f"{_BMI}: canonical correlations, Kay 1992; Brillinger 2004",
        "benchmark-mi", _JAX,
    ),
    Peer(
        "bmi-mine", NUMBERS, "lower bound", "up to 10,000 steps, a minute", f"{_BMI}: Belghazi et al. 2018",
        "benchmark-mi", _JAX,
    ),
    Peer(
        "bmi-infonce", NUMBERS, "lower bound, at most the log of the number of rows",
        "up to 10,000 steps, a minute",
        f"{_BMI}: van den Oord et al. 2018",
        "benchmark-mi", _JAX,
    ),
    Peer(
        "bmi-nwj", NUMBERS, "lower bound", "up to 10,000 steps, a minute", f"{_BMI}: Nguyen, Wainwright & Jordan 2010",
        "benchmark-mi", _JAX,
    ),
    Peer(
        "bmi-dv", NUMBERS, "lower bound", "up to 10,000 steps, a minute", f"{_BMI}: Donsker & Varadhan 1983",
        "benchmark-mi", _JAX,
    ),
    Peer(
        "latentmi", NUMBERS, "lower bound: I of its 8 latent dimensions", "up to 300 epochs, minutes",
        f"latentmi (Gowri et al. 2024): KSG of latent variables; {_KSG}",
        "latentmi", _TORCH, timeout=3600.0,
    ),
    Peer(
        "torch-mist-smile", NUMBERS, "neither bound: clipped at e^±5", "up to 5,000 steps, a minute",
        f"{_MIST}: Song & Ermon 2020",
        "torch-mist", _TORCH,
    ),
    Peer(
        "torch-mist-mine", NUMBERS, "lower bound, but on its training rows", "1,000 steps, a minute",
        f"{_MIST}: Belghazi et al. 2018",
        "torch-mist", _TORCH,
    ),
    Peer(
        "torch-mist-infonce", NUMBERS,
        "lower bound, at most the log of the batch size, but on its training rows", "1,000 steps, a minute",
        f"{_MIST}: van den Oord et al. 2018",
        "torch-mist", _TORCH,
    ),
)  # fmt: skip
PEERS: Mapping[str, Peer] = MappingProxyType({peer.name: peer for peer in _ALL})
_SELECTION = "selection"
_SELECTING = (
    Peer("dcor-selection", ANY, "every dependence", "n²", "dcor (Carreño & Torrecilla 2023)", "dcor", _SELECTION),
    Peer("phik-selection", ANY, "dependence in bins", "n", "phik (Baak et al. 2020)", "phik", _SELECTION),
    Peer("sklearn-selection", ANY, "I of each column", "n log n", f"scikit-learn: {_KSG}", "scikit-learn", OURS),
    Peer(
        "boruta-selection", ANY, "features used by a forest", "forests, minutes", "boruta (Kursa & Rudnicki 2010)",
        "Boruta", _SELECTION, timeout=1800.0,
    ),
)  # fmt: skip
SELECTIONS: Mapping[str, Peer] = MappingProxyType({peer.name.removesuffix("-selection"): peer for peer in _SELECTING})
"""Packages that select columns of a table."""
