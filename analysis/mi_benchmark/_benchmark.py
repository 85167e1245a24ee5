"""The tables of the neural benchmark: which runs a table is made of, and what its parts
have in common.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.claims import Claim
from analysis.common.published import PAPERS, published
from analysis.common.runs import older
from analysis.common.tables import Result, plus_minus_column, spread, summarise
from analysis.mi_benchmark._captions import (
    PUBLISHED,
    cautions,
    describe_setting,
    explain_errors,
    explain_oracle,
    setting_differences,
)
from analysis.mi_benchmark._terms import CONSTANT, FIELD_TITLES, GROUP
from infoscope.errors import InvalidInput
from sweeps.mi_benchmark.settings import DECODING

# cells that differ in these need not have the same other fields
KIND = (*GROUP, "encoder", "statistics", "study")
# in names of metrics: at one true mutual information
AT_TRUTH = re.compile(" at [^ ]+ bits$")
# fields that do not place a cell in a table
SETTING = (
    "version", "schedule_bits", "steps", "critic", "depth", "width", "batch", "learning_rate", "precision", "sources",
    "size", "rows", "backgrounds", "channels", "encoder_size", "network_depth", "network_width", "network_steps",
    "decoder", "decoder_steps",
)  # fmt: skip
UNSEEN = {
    "second_half_mean_bits": "training batches, 2nd half",
    "held_out_same_batch_bits": "unseen, same batch size",
    "held_out_large_batch_bits": "unseen, batch 512",
    "training_minus_held_out_bits": "gap",
}


@dataclass(frozen=True)
class Evidence:
    """The runs behind the tables of one experiment.

    trained, decoded: runs of one setting. rows: those of a table. comparison: notes on
    how their setting differs from the paper's. left_out: notes on older runs.
    """

    trained: pd.DataFrame
    decoded: pd.DataFrame
    rows: pd.DataFrame
    comparison: Sequence[str] = ()
    left_out: Sequence[str] = ()

    def figures(
        self,
        by: Sequence[str],
        columns: Sequence[str],
        constant: Sequence[str] = CONSTANT,
    ) -> pd.DataFrame:
        """Means by the fields `by` over seeds with standard errors, then the fields of
        `constant`.
        """
        constant = [name for name in constant if name in self.rows]
        averaged = [
            name
            for name in columns
            if name not in constant and not name.startswith(PAPERS)
        ]
        groups = self.rows.groupby(list(by), as_index=False, sort=False)
        means = summarise(self.rows, by, averaged)
        return means.merge(groups[constant].first(), on=list(by), how="left")

    def add_published(
        self, figures: pd.DataFrame, name: str, on: Sequence[str], **same: object
    ) -> pd.DataFrame:
        """The figures with those of a published table, matched on `on`; its bias as
        mean - truth.

        NaN where the setting of the runs is not the paper's.
        """
        table = published(name).assign(**same)
        if "bias_bits" in table:
            table["bias_bits"] *= -1
        if self.comparison:
            table = table.iloc[:0]
        names = {column: PAPERS + column for column in table if column not in on}
        return figures.merge(table.rename(columns=names), on=list(on), how="left")

    def result(
        self,
        name: str,
        figures: pd.DataFrame,
        text: pd.DataFrame,
        sentences: Sequence[str],
        draw: Callable[..., None] | None,
        claims: Sequence[Claim] = (),
        *,
        has_oracle: bool = True,
        remarks: Sequence[str] = (),
        against: pd.DataFrame | None = None,
        title: str = "",
    ) -> Result:
        """A table. sentences: its finding, then what it has. Its caption also explains
        ± and the oracle critic, and ends with setting, differences and cautions.
        """
        caption = [*sentences, explain_errors(figures)]
        if has_oracle:
            caption.append(explain_oracle(self.rows))
        caption += remarks
        caption.append(describe_setting(self.trained))
        caption += self.comparison
        caption += cautions(self.trained)
        caption += self.left_out
        return Result(
            name, figures, text, caption, draw, claims, against=against, title=title
        )

    def unseen(self, by: Sequence[str], remarks: Sequence[str] = ()) -> Result:
        """Estimates on unseen pairs and the gap to the training batches."""
        figures = summarise(self.rows, by, UNSEEN)
        text = figures_text(figures, by, UNSEEN)
        gaps = figures["training_minus_held_out_bits"].dropna()
        sentences = [
            f"The estimate on the items of the training is {gaps.median():+.3f} bits "
            "from that on unseen pairs (median "
            f"of {len(gaps)} estimates, range {gaps.min():+.3f} to {gaps.max():+.3f}).",
            "Estimates (bits) on training batches and, by the trained critic, on "
            "fresh pairs of items held out of the "
            "training. Gap: last tenth of the training batches minus unseen pairs at "
            "the same batch size; it is the "
            "part of the estimate that is due to having trained on the items.",
        ]
        return self.result(
            "unseen",
            figures,
            text,
            sentences,
            None,
            has_oracle=False,
            remarks=remarks,
            title="Unseen pairs",
        )


@dataclass(frozen=True)
class Benchmark:
    """How the runs of an experiment become its tables.

    tables: evidence -> results. order: fields by which rows are sorted. axes: fields
    that differ within a table. decoded_by: fields, besides domain, pool and true MI, of
    the decoding. setting: the paper's, field -> values. derive: rows -> rows with
    further fields.
    """

    tables: Callable[[Evidence], Sequence[Result]]
    order: Sequence[str]
    axes: Sequence[str] = ()
    decoded_by: Sequence[str] = ()
    setting: Mapping[str, set] = field(default_factory=lambda: PUBLISHED)
    derive: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows

    def __call__(
        self, runs: pd.DataFrame, arguments: SimpleNamespace
    ) -> Sequence[Result]:
        """The tables of the runs. Raises ValueError when no run trained a critic."""
        recorded = runs.reindex(columns=["kind", "bound"])
        # before cells had a kind
        is_decoding = (recorded["kind"] == DECODING) | (
            recorded["bound"] == "posterior"
        )
        if is_decoding.all():
            raise InvalidInput(
                f"kind must not be {DECODING} in all {len(runs)} runs; some must have "
                "trained a critic."
            )
        trained, left_out = latest_setting(runs[~is_decoding], self.axes)
        decoded, _ = latest_setting(runs[is_decoding], self.axes)
        rows = rows_by_truth(trained)
        rows = add_decodable(rows, decoded, self.decoded_by)
        rows = self.derive(rows)
        rows = rows.sort_values(list(self.order), kind="stable")
        comparison = setting_differences(trained, self.setting)
        return self.tables(Evidence(trained, decoded, rows, comparison, left_out))


def latest_setting(
    runs: pd.DataFrame, axes: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """The runs of the setting started last for each kind of cell, and a note on the
    others. axes: fields that may differ.
    """
    if runs.empty:
        return runs, []
    settings = joined_values(runs, [name for name in SETTING if name not in axes])
    kinds = joined_values(runs, KIND)
    latest_run = runs["start"].groupby(kinds).transform("idxmax")
    selected = runs[settings == settings.loc[latest_run].to_numpy()]
    return selected, older(runs, selected)


def joined_values(runs: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """The values of those fields that the runs have, as one text per run."""
    fields = runs[[name for name in names if name in runs]]
    values = fields.astype(object).where(fields.notna(), None)
    texts = [repr(row) for row in values.itertuples(index=False, name=None)]
    return pd.Series(texts, runs.index)


def true_levels(runs: pd.DataFrame) -> list[float]:
    """The true MI (bits) that the schedules of runs reach, ascending."""
    return sorted(set().union(*runs["schedule_bits"]))


def rows_by_truth(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per run and true MI of its schedule: `true_bits`, and the figures at that
    truth as columns.
    """
    at_one_truth = [name for name in runs if AT_TRUTH.search(name)]
    parts = []
    for bits in true_levels(runs):
        is_reached = [bits in schedule for schedule in runs["schedule_bits"]]
        figures = figures_at(runs[is_reached], bits)
        figures = figures.drop(columns=at_one_truth, errors="ignore").copy()
        parts.append(figures.assign(true_bits=bits))
    return pd.concat(parts, ignore_index=True)


def figures_at(runs: pd.DataFrame, bits: float) -> pd.DataFrame:
    """The runs with the figures of one true MI as columns (`mse_bits2`, ...). Raises
    ValueError when there are none.
    """
    ending = f" at {bits:g} bits"
    names = {name: name.removesuffix(ending) for name in runs if name.endswith(ending)}
    if not names:
        levels = ", ".join(f"{value:g}" for value in true_levels(runs))
        raise ValueError(
            f"bits must be a true MI of these runs, {levels} bits, got {bits:g} bits."
        )
    others = runs.drop(columns=list(names.values()), errors="ignore")
    return others.rename(columns=names)


def add_decodable(
    rows: pd.DataFrame, decoded: pd.DataFrame, on: Sequence[str]
) -> pd.DataFrame:
    """Rows by true MI with the decodable MI of their data (`decodable_bits`, its error)
    and the error against it.

    on: further fields of the decoding. Gaussian pairs have an exact truth; NaN where no
    labels were decoded.
    """
    keys = [*GROUP, "true_bits", *on]
    columns = ["decodable_bits", "decodable_bits_error"]
    if decoded.empty:
        rows = rows.assign(decodable_bits=np.nan, decodable_bits_error=np.nan)
    else:
        decodable = rows_by_truth(decoded).sort_values("start")
        decodable = decodable.drop_duplicates(keys, keep="last")
        rows = rows.drop(columns=columns, errors="ignore")
        rows = rows.merge(decodable[[*keys, *columns]], on=keys, how="left")
    is_exact = rows["domain"] == "gaussian"
    rows.loc[is_exact, "decodable_bits"] = rows.loc[is_exact, "true_bits"]
    rows.loc[is_exact, "decodable_bits_error"] = 0.0
    bias = rows["decodable_bits"] - rows["mean_bits"]
    return rows.assign(decodable_mse_bits2=rows["variance_bits2"] + bias**2)


def figures_text(
    figures: pd.DataFrame, by: Sequence[str], titles: Mapping[str, str]
) -> pd.DataFrame:
    """The table to read: the fields of a row, its runs, and figures with their standard
    errors under their titles.
    """
    text = figures[[*by, "runs"]]
    if "true_bits" in by:
        text = text.assign(true_bits=text["true_bits"].round(3))
    text = text.rename(columns=FIELD_TITLES)
    for column, title in titles.items():
        text[title] = figure_text(figures, column)
    return text


def figure_text(figures: pd.DataFrame, column: str) -> list[str]:
    """The figures of a column with their standard errors, where there are some, to
    read.
    """
    missing = "diverged"
    if column.startswith(PAPERS):
        missing = "-"
    elif "decodable" in column or column == "accuracy":
        missing = "not decoded"
    elif "oracle_critic" in column:
        missing = "infinite"
    return plus_minus_column(figures, column, missing)


def spread_estimators(
    long: pd.DataFrame, index: Sequence[str], missing: str
) -> pd.DataFrame:
    """A table with a column for every estimator, from rows with `cell`, sorted by all
    but the last of `index`.
    """

    def places(values: pd.Series) -> pd.Series:
        if values.name != index[0]:
            return values
        return pd.Series(pd.factorize(values)[0], values.index)

    cells = long.drop_duplicates([*index, "bound"])
    cells = cells.sort_values(index[:-1], kind="stable", key=places)
    bounds = long["bound"].unique()
    return spread(cells, index, "bound", "cell", missing, dict(zip(bounds, bounds)))
