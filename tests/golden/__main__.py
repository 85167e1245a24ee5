"""The tables of before next to those of now: `make golden` compares, `python -m
tests.golden --freeze FOLDER` writes.

Each CSV beside this file is a table by the name that it has in runs/tables: those of
the smoke profile of every sweep on embedded data are of commit 67b96674, those drawn
from docs/results/runs of v0.1.0. Numbers are rounded to 6 digits; columns of time and
memory are left out, and so are searches, whose choices depend on which trial ends
first. What differs on purpose is named in CHANGELOG.md with its reason.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

FROZEN = Path(__file__).parent
TABLES = FROZEN.parents[1] / "runs" / "tables"
DIGITS = 6
# in names of columns that no two runs share
VOLATILE = "seconds", "hour", "minute", "time", "cost", "memory", "rss"
CLOSE = 1e-4  # relative, of float32 sums in another order


def figures(path):
    """The table of a CSV without its caption and its columns of time and memory."""
    table = pd.read_csv(path, comment="#")
    return table[[name for name in table if not any(word in name for word in VOLATILE)]]


def ordered(table):
    """The rows in an order that does not depend on which run was done first: by texts,
    then by numbers.
    """
    texts = []
    for name in sorted(table):
        if not pd.api.types.is_numeric_dtype(table[name]):
            texts.append(name)
    by = [*texts, *(name for name in sorted(table) if name not in texts)]
    return table.fillna(dict.fromkeys(texts, "")).sort_values(by, ignore_index=True)


def differences(before, now):
    """In words, where two tables differ; empty if they do not."""
    if set(before.columns) != set(now.columns) or len(before) != len(now):
        return (
            f"{before.shape[0]} x {before.shape[1]} before, {now.shape[0]} x "
            f"{now.shape[1]} now"
        )
    before = ordered(before)
    now = ordered(now)
    texts = []
    for name in before:
        old = before[name]
        new = now[name]
        if pd.api.types.is_numeric_dtype(old) and pd.api.types.is_numeric_dtype(new):
            same = np.isclose(old, new, rtol=CLOSE, atol=CLOSE, equal_nan=True)
        else:
            same = (old.astype(str) == new.astype(str)).to_numpy()
        if not same.all():
            place = int(np.argmin(same))
            texts.append(
                f"{name}: {np.sum(~same)} of {len(old)}, such as {old[place]} -> "
                f"{new[place]}"
            )
    return "; ".join(texts)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--freeze",
        type=Path,
        metavar="FOLDER",
        help="write the tables of FOLDER as those of before",
    )
    arguments = parser.parse_args()
    if arguments.freeze:
        for path in sorted(arguments.freeze.glob("*.csv")):
            figures(path).to_csv(
                FROZEN / path.name, index=False, float_format=f"%.{DIGITS}g"
            )
        return 0
    same = 0
    changed = 0
    absent = 0
    for path in sorted(FROZEN.glob("*.csv")):
        if not (TABLES / path.name).exists():
            absent += 1
        elif text := differences(figures(path), figures(TABLES / path.name)):
            changed += 1
            print(f"{path.stem}: {text}")
        else:
            same += 1
    print(
        f"{same} tables as before, {changed} that differ, {absent} that are not in "
        f"{TABLES}"
    )
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
