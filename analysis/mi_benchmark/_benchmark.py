"""The tables of the neural benchmark: which runs a table is made of, and what its parts have in common."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.figures import draw_unseen, drawing
from analysis.common.runs import older
from analysis.common.tables import PAPERS, Claim, Result, plus_minus, published, summarise
from analysis.mi_benchmark._notes import PUBLISHED, notes, oracle, over_seeds, setting, unlike_published
from analysis.mi_benchmark._terms import CONSTANT, GROUP
from infoscope.errors import InvalidInput
from sweeps.mi_benchmark.settings import DECODING

KIND = (*GROUP, "encoder", "statistics", "study")  # cells that differ in these need not have each other's fields
# what a cell is besides its place in a table
SETTING = (
    "version", "schedule_bits", "steps", "critic", "depth", "width", "batch", "learning_rate", "sources", "size",
    "rows", "backgrounds", "channels", "encoder_size", "network_depth", "network_width", "network_steps", "decoder",
    "decoder_steps",
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

    trained, decoded: runs of one setting. rows: what is tabulated. comparison: how their setting differs from the
    paper's; left_out: sentences.
    """

    trained: pd.DataFrame
    decoded: pd.DataFrame
    rows: pd.DataFrame
    comparison: Sequence[str] = ()
    left_out: Sequence[str] = ()

    @property
    def notes(self) -> list[str]:
        """The last lines of every caption: setting, comparison with the paper's, and what must not be overlooked."""
        return [setting(self.trained), *self.comparison, *notes(self.trained), *self.left_out]

    def figures(self, by: Sequence[str], columns: Sequence[str], constant: Sequence[str] = CONSTANT) -> pd.DataFrame:
        """Means by the fields `by` over seeds with standard errors, then the fields of `constant`."""
        constant = [name for name in constant if name in self.rows]
        averaged = [name for name in columns if name not in constant and not name.startswith(PAPERS)]
        first = self.rows.groupby(list(by), as_index=False, sort=False)[constant].first()
        return summarise(self.rows, by, averaged).merge(first, on=list(by), how="left")

    def beside_published(self, figures: pd.DataFrame, name: str, on: Sequence[str], **same: object) -> pd.DataFrame:
        """The figures with those of a published table, matched on `on`; its bias as mean - truth.

        NaN where the setting of the runs is not the paper's.
        """
        theirs = published(name).assign(**same)
        if "bias_bits" in theirs:
            theirs["bias_bits"] *= -1
        theirs = theirs.rename(columns={column: PAPERS + column for column in theirs if column not in on})
        return figures.merge(theirs.iloc[:0] if self.comparison else theirs, on=list(on), how="left")

    def result(
        self,
        name: str,
        figures: pd.DataFrame,
        text: pd.DataFrame,
        said: Sequence[str],
        draw: Callable[..., None],
        claims: Sequence[Claim] = (),
        *,
        has_oracle: bool = True,
        remarks: Sequence[str] = (),
        beside: str = "",
    ) -> Result:
        """A table. Its caption says what is `said`, what ± and the oracle critic are, the remarks, and the notes."""
        explained = [over_seeds(figures), *([oracle(self.rows)] if has_oracle else []), *remarks]
        caption = "\n".join([*said, *explained, *self.notes])
        return Result(name, figures, text, caption, draw, claims, beside=beside)

    def unseen(self, by: Sequence[str], *grid: str, remarks: Sequence[str] = ()) -> Result:
        """Estimates on unseen pairs and the gap to the training batches, by true MI; a panel for each domain or `grid`
        value.
        """
        figures = summarise(self.rows, by, UNSEEN)
        text = figures_text(figures, by, UNSEEN)
        said = (
            "Estimates (bits) on training batches and, by the trained critic, on fresh pairs of items held out of the "
            "training; gap = last tenth of the training batches minus unseen pairs at the same batch size: what the "
            "critic owes to having seen the items."
        )
        draw = drawing(figures, draw_unseen, "estimate (bits)", *grid)
        return self.result("unseen", figures, text, [said], draw, has_oracle=False, remarks=remarks)


@dataclass(frozen=True)
class Benchmark:
    """How the runs of an experiment become its tables.

    tables: evidence -> results. order: fields by which rows are sorted. axes: fields that differ within a table.
    decoded_by: fields, besides domain, pool and true MI, of the decoding. setting: the paper's, field -> values.
    derive: rows -> rows with further fields.
    """

    tables: Callable[[Evidence], Sequence[Result]]
    order: Sequence[str]
    axes: Sequence[str] = ()
    decoded_by: Sequence[str] = ()
    setting: Mapping[str, set] = field(default_factory=lambda: PUBLISHED)
    derive: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows

    def __call__(self, runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
        """The tables of the runs. Raises ValueError when no run trained a critic."""
        trained, decoded, left_out = trained_and_decoded(runs, self.axes)
        rows = self.derive(with_decodable(by_truth(trained), decoded, self.decoded_by))
        rows = rows.sort_values(list(self.order), kind="stable")
        return self.tables(Evidence(trained, decoded, rows, unlike_published(trained, self.setting), left_out))


def one_setting(runs: pd.DataFrame, axes: Sequence[str] = ()) -> tuple[pd.DataFrame, list[str]]:
    """The runs of the setting started last for each kind of cell, and a note on the others. axes: fields that may
    differ.
    """
    if runs.empty:
        return runs, []
    of, kinds = values_of(runs, [name for name in SETTING if name not in axes]), values_of(runs, KIND)
    latest = runs["start"].groupby(kinds).transform("idxmax")
    kept = runs[of == of.loc[latest].to_numpy()]
    return kept, older(runs, kept)


def values_of(runs: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """The values of those fields that the runs have, as one text per run."""
    fields = runs[[name for name in names if name in runs]]
    values = fields.astype(object).where(fields.notna(), None)
    return pd.Series(map(repr, values.itertuples(index=False, name=None)), runs.index)


def trained_and_decoded(runs: pd.DataFrame, axes: Sequence[str] = ()) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """The runs that trained a critic and those that decoded the labels, both of the setting that was started last, and
    a note on those left out. `axes` as in `one_setting`. Raises ValueError when no run trained a critic.
    """
    said = runs.reindex(columns=["kind", "bound"])
    decoding = (said["kind"] == DECODING) | (said["bound"] == "posterior")  # so recorded before cells had a kind
    if decoding.all():
        raise InvalidInput(f"kind must not be {DECODING} in all {len(runs)} runs; some must have trained a critic.")
    trained, left_out = one_setting(runs[~decoding], axes)
    return trained, one_setting(runs[decoding], axes)[0], left_out


def by_truth(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per run and true MI of its schedule: `true_bits`, and the figures at that truth as columns."""
    levels = sorted({value for schedule in runs["schedule_bits"] for value in schedule})
    others = [name for name in runs if name.startswith("at ")]
    parts = []
    for bits in levels:
        chosen = at(runs[[bits in schedule for schedule in runs["schedule_bits"]]], bits)
        parts.append(chosen.drop(columns=others, errors="ignore").copy().assign(true_bits=bits))
    return pd.concat(parts, ignore_index=True)


def at(runs: pd.DataFrame, bits: float) -> pd.DataFrame:
    """The runs with the figures of one true MI as columns (`mse_bits2`, ...). Raises ValueError when there are none."""
    prefix = f"at {bits:g} bits/"
    figures = [name for name in runs if name.startswith(prefix)]
    if not figures:
        known = sorted({value for schedule in runs["schedule_bits"] for value in schedule})
        raise ValueError(f"no runs at {bits:g} bits; these runs have {', '.join(f'{value:g}' for value in known)} bits")
    plain = runs.drop(columns=[name.removeprefix(prefix) for name in figures if name.removeprefix(prefix) in runs])
    return plain.rename(columns=lambda name: name.removeprefix(prefix))


def with_decodable(rows: pd.DataFrame, decoded: pd.DataFrame, on: Sequence[str] = ()) -> pd.DataFrame:
    """Rows by true MI with the decodable MI of their data (`decodable_bits`, its error) and the error against it.

    on: further fields of the decoding. Gaussian pairs have an exact truth; NaN where no labels were decoded.
    """
    keys = [*GROUP, "true_bits", *on]
    known = ["decodable_bits", "decodable_bits_error"]
    if decoded.empty:
        rows = rows.assign(decodable_bits=np.nan, decodable_bits_error=np.nan)
    else:
        found = by_truth(decoded).sort_values("start").drop_duplicates(keys, keep="last")[[*keys, *known]]
        rows = rows.drop(columns=known, errors="ignore").merge(found, on=keys, how="left")
    exact = rows["domain"] == "gaussian"
    rows.loc[exact, "decodable_bits"] = rows.loc[exact, "true_bits"]
    rows.loc[exact, "decodable_bits_error"] = 0.0
    off = rows["decodable_bits"] - rows["mean_bits"]
    return rows.assign(decodable_mse_bits2=rows["variance_bits2"] + off**2)


def figures_text(figures: pd.DataFrame, by: Sequence[str], titles: Mapping[str, str]) -> pd.DataFrame:
    """The table to read: the fields of a row, its runs, and figures with their standard errors under their titles."""
    names = {"pool": "data", "true_bits": "true MI (bits)", "bound": "estimator"}
    text = figures[[*by, "runs"]].rename(columns=names)
    for column, title in titles.items():
        text[title] = figure_text(figures, column)
    return text


def figure_text(figures: pd.DataFrame, column: str) -> list[str]:
    """The figures of a column with their standard errors, where there are some, to read."""
    decoding = "decodable" in column or column == "accuracy"
    missing = "not decoded" if decoding else "infinite" if "oracle_critic" in column else "diverged"
    missing = "-" if column.startswith(PAPERS) else missing
    errors = figures.get(column + "_error", [np.nan] * len(figures))
    return [plus_minus(*pair, missing) for pair in zip(figures[column], errors)]


def by_bound(long: pd.DataFrame, index: Sequence[str], missing: str) -> pd.DataFrame:
    """A table with a column for every estimator, from rows with `said`, sorted by all but the last of `index`."""

    def key(values: pd.Series) -> pd.Series:
        return pd.Series(pd.factorize(values)[0], values.index) if values.name == index[0] else values

    wide = long.pivot_table(index=index, columns="bound", values="said", aggfunc="first", sort=False).fillna(missing)
    rows = long[index].drop_duplicates().sort_values(index[:-1], kind="stable", key=key)
    return wide.reindex(pd.MultiIndex.from_frame(rows)).reset_index()
