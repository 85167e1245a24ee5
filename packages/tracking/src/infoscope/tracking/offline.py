"""Runs a sweep in this process, without Ray and MLflow, on a machine that reaches
neither.

The commands, in their order:

    infoscope sweep critic-capacity --offline FOLDER     writes a folder for every cell
    infoscope sync --records FOLDER                      publishes them, where MLflow can be reached
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import track

from infoscope.command_line import FAILED
from infoscope.errors import InvalidInput
from infoscope.tracking.cell_folder import COMPLETE, CellFolder
from infoscope.tracking.environment import code_tags
from infoscope.tracking.sweep import Sweep, names
from infoscope.tracking.tags import PROFILE, VERSION
from infoscope.tracking.trial import Job, run_pack


def run_offline(
    sweep: Sweep,
    profile: str,
    folder: Path,
    overrides: Mapping[str, str] | None = None,
    device: str | None = None,
) -> int:
    """Computes the cells of a profile that the folder does not have; the exit status:
    0, or FAILED if cells failed.

    A cell that was interrupted goes on from its checkpoint, in the same folder. device:
    "cpu", "cuda" or None: the GPU where there is one. Raises ValueError for an invalid
    profile, setting or cell, and for a search, which needs the recorded cells.
    """
    if sweep.search and sweep.search.space:
        raise InvalidInput(
            f"sweep {sweep.name} is a search, which needs the recorded cells: run it "
            "where MLflow is"
        )
    label, settings = sweep.profile(profile, overrides)
    cells = sweep.plan(settings)
    place = folder.resolve() / sweep.name
    place.mkdir(parents=True, exist_ok=True)
    missing = {}
    for key, cell in cells.items():
        ending = CellFolder(place / key).ending()
        if ending.get("outcome") != COMPLETE:
            missing[key] = cell
    device = device or _device()
    tags = {**code_tags(), PROFILE: label, VERSION: str(sweep.version)}
    job = Job(sweep, place, device, tags)
    packs = sweep.packs(missing, "gpu" if device == "cuda" else "cpu")
    titles = names(missing) if missing else {}
    failed = 0
    console = Console(file=sys.stderr)
    for pack in track(
        packs, f"{sweep.name} ({label}): {len(missing)} cells", console=console
    ):
        folders = {key: CellFolder(place / key) for key in pack}
        run_pack(pack, folders, titles, job, lambda progress: None)
        for key, cell_folder in folders.items():
            error = cell_folder.ending()["error"]
            if error:
                failed += 1
                last = error.splitlines()[-1]
                file = cell_folder.files / "traceback.txt"
                console.print(
                    f"failed: {titles[key]}: {last}; traceback: {file}",
                    markup=False,
                    soft_wrap=True,
                )
    console.print(
        f"{sweep.name} ({label}): {len(missing) - failed} completed, {failed} failed "
        f"of {len(cells)} cells"
    )
    console.print(
        f"to publish them: make sweep-sync ARGS='--records {folder}'", markup=False
    )
    return FAILED if failed else 0


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
