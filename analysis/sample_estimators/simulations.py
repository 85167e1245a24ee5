"""Which simulated data sets is the reading trained on?

`--keep FOLDER` writes the data sets (figures and truths) to one file, on which the
sweep reading trains its reader, and describes all files of the folder in
`croissant.json` (Croissant 1.0, MLCommons), by which others find and load them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from analysis.common.runs import latest, provenance
from analysis.common.tables import Analysis, Result, share_text
from infoscope.command_line import option
from infoscope.estimators.reading.simulated import Simulated, format_of
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.tracking import table

FACT_MEANING = {
    "number": "number of the distribution, which the prior makes from it",
    "n": "rows of the data set",
    "type": "type of the pair: numbers, labels, categories or mixed",
    "families": "base families of the distribution, with + between them",
    "columns_x": "columns of x",
    "columns_y": "columns of y",
    "tied": "whether numeric values repeat",
    "idle": "columns without information",
    "truth": "mutual information of x and y (given z, where there is one), nats",
    "truth_error": "standard error of truth, nats; 0 where it is exact",
    "columns_z": "columns of z",
}
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "recordSet": "cr:recordSet",
    "field": "cr:field",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "source": "cr:source",
    "fileObject": "cr:fileObject",
    "extract": "cr:extract",
    "column": "cr:column",
}


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Every simulated data set once, in the order of their numbers."""
    rows = pd.concat(
        [table(run_id, "sets") for run_id in runs["run_id"]], ignore_index=True
    )
    return rows.sort_values("number").drop_duplicates("number").reset_index(drop=True)


def keep(sets: pd.DataFrame, folder: Path) -> Path:
    """Writes the data sets to a file of a folder, which is made; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = (
        folder
        / f"simulated-{int(sets['number'].min()):07d}-{int(sets['number'].max()):07d}.parquet"
    )
    triples = "columns_z" in sets
    kind, facts = format_of(triples)
    Simulated(
        sets[list(facts)], sets[list(kind.NAMES)].to_numpy(np.float32), triples
    ).save(path)
    describe(folder)
    return path


def describe(folder: Path) -> None:
    """Writes the Croissant description of the data sets of a folder, croissant.json."""
    files = sorted(folder.glob("*.parquet"))
    text = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": "infoscope-reading",
        "description": "Statistics of samples of simulated distributions with known mutual information.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": "https://spdx.org/licenses/Apache-2.0.html",
        "version": metadata.version("infoscope"),
        "distribution": [_file_object(path) for path in files],
        "recordSet": [_record_set(path) for path in files],
    }
    (folder / "croissant.json").write_text(
        json.dumps(text, indent=1) + "\n", encoding="utf-8"
    )


def _file_object(path: Path) -> Mapping[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _record_set(path: Path) -> Mapping[str, object]:
    """The rows of a file, with a field for each fact and figure."""
    name = path.stem
    types = {"type": "sc:Text", "families": "sc:Text", "tied": "sc:Boolean"}
    types |= dict.fromkeys(
        ("number", "n", "columns_x", "columns_y", "columns_z", "idle"), "sc:Integer"
    )
    columns = pq.read_schema(path).names
    kind, _ = format_of("columns_z" in columns)
    meaning = FACT_MEANING | kind.MEANING
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "description": meaning[column],
            "dataType": types.get(column, "sc:Float"),
            "source": {"fileObject": {"@id": path.name}, "extract": {"column": column}},
        }
        for column in columns
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """A row per base family; a distribution of two families is in both."""
    runs, left_out = latest(runs, ())
    sets = read(runs)
    kept = [f"Kept in {keep(sets, Path(arguments.keep))}."] if arguments.keep else []
    each = sets.assign(
        truth=sets["truth"] / NATS_PER_BIT, family=sets["families"].str.split("+")
    ).explode("family")
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
    "simulations",
    analyse,
    [
        option(
            "keep",
            default="",
            metavar="FOLDER",
            help="write the data sets to one file there",
        )
    ],
)
