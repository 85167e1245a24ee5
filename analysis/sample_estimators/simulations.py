"""Which simulated data sets is the reading trained on?

`--keep FOLDER` writes the data sets (figures and truths) to one file, on which the sweep reading trains its reader.
"""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.runs import latest, provenance
from analysis.common.tables import Analysis, Result, share_text
from infoscope.command_line import option
from infoscope.estimators.reading.figures import NAMES
from infoscope.estimators.reading.simulated import FACTS, Simulated
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.tracking import table


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Every simulated data set once, in the order of their numbers."""
    rows = pd.concat([table(run_id, "sets") for run_id in runs["run_id"]], ignore_index=True)
    return rows.sort_values("number").drop_duplicates("number").reset_index(drop=True)


def keep(sets: pd.DataFrame, folder: Path) -> Path:
    """Writes the data sets to a file of a folder, which is made; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"simulated-{int(sets['number'].min()):07d}-{int(sets['number'].max()):07d}.npz"
    Simulated(sets[list(FACTS)], sets[list(NAMES)].to_numpy(np.float32)).save(path)
    return path


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """A row per base family; a distribution of two families is in both."""
    runs, left_out = latest(runs, ())
    sets = read(runs)
    kept = [f"Kept in {keep(sets, Path(arguments.keep))}."] if arguments.keep else []
    each = sets.assign(truth=sets["truth"] / NATS_PER_BIT, family=sets["families"].str.split("+")).explode("family")
    figures = each.groupby("family").agg(
        sets=("number", "size"), rows=("n", "median"), nothing=("truth", lambda truth: int((truth == 0).sum())),
        low=("truth", lambda truth: truth.quantile(0.05)), median=("truth", "median"),
        high=("truth", lambda truth: truth.quantile(0.95)), tied=("tied", "mean"),
    ).reset_index()  # fmt: skip
    text = pd.DataFrame({
        "base family": figures["family"],
        "distributions": figures["sets"],
        "median rows": figures["rows"].map("{:,.0f}".format),
        "independent": figures["nothing"],
        "true information (bits), median": figures["median"].map("{:.2f}".format),
        "5 to 95 %": [f"{row.low:.2f} to {row.high:.2f}" for row in figures.itertuples()],
        "with repeated values": [f"{100 * share:.0f} %" for share in figures["tied"]],
    })  # fmt: skip
    nothing = share_text((sets["truth"] == 0).sum(), len(sets))
    caption = [
        f"{len(sets):,} data sets were simulated; {nothing} of them are independent.",
        "Each is of a distribution of its own, 100 to 5,000 rows. A distribution of "
        "several families is in the row of each.",
        provenance(runs),
        *kept,
        *left_out,
    ]
    return [Result("families", figures, text, caption)]


ANALYSIS = Analysis(
    "simulations", analyse, [option("keep", default="", metavar="FOLDER", help="write the data sets to one file there")]
)
