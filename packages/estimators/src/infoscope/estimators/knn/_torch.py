"""Exact k-nearest neighbours and range counts in the maximum norm on a torch device, by brute force in row chunks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

CHUNK_ELEMENTS = {"cpu": 1 << 21, "cuda": 1 << 27}  # float64 distances at once: 16 MiB, and 1 GiB on a GPU


def is_device(name: str) -> bool:
    """Whether `name` is a torch device that is there and has float64."""
    try:
        return torch.empty(0, device=name).device.type in CHUNK_ELEMENTS
    except (RuntimeError, AssertionError):  # an unknown name, or a device this torch was built without
        return False


def nearest(
    points: np.ndarray, k: int, codes: np.ndarray | None, device: str, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See neighbours.nearest."""
    n = len(points)
    distances, ids = np.full((n, k), np.inf), np.full((n, k), -1, dtype=np.intp)
    ties = np.zeros(n, dtype=np.intp)
    found = min(k, n - 1)
    for rows, block in distance_blocks(points, codes, device, groups):
        near, at = block.topk(found, dim=1, largest=False)
        farthest = near[:, -1:]
        beyond = (block == farthest).sum(1) - (near == farthest).sum(1)
        distances[rows, :found] = near.cpu().numpy()
        ids[rows, :found] = torch.where(near.isinf(), -1, at).cpu().numpy()
        ties[rows] = torch.where(farthest[:, 0].isinf(), 0, beyond).cpu().numpy()
    return distances, ids, ties


def count_within(points: np.ndarray, radius: np.ndarray, codes: np.ndarray | None, device: str) -> np.ndarray:
    """See neighbours.count_within."""
    counts = np.empty(len(points), dtype=np.intp)
    limits = torch.as_tensor(radius, device=device)[:, None]
    for rows, block in distance_blocks(points, codes, device):
        counts[rows] = (block < limits[rows]).sum(1).cpu().numpy()
    return counts


def distance_blocks(
    points: np.ndarray, codes: np.ndarray | None, device: str, groups: np.ndarray | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """(rows, distances [rows, n]) chunk by chunk; inf to the point itself, to its group and to other strata."""
    columns = torch.as_tensor(np.ascontiguousarray(points.T), device=device)
    strata = None if codes is None else torch.as_tensor(codes, device=device)
    own = None if groups is None else torch.as_tensor(groups, device=device)
    n = columns.shape[1]
    at_once = max(1, CHUNK_ELEMENTS[columns.device.type] // n)
    for start in range(0, n, at_once):
        rows = slice(start, min(start + at_once, n))
        block = torch.zeros(rows.stop - start, n, dtype=torch.float64, device=device)
        for column in columns:
            torch.maximum(block, (column[rows, None] - column).abs_(), out=block)
        if strata is not None:
            block.masked_fill_(strata[rows, None] != strata, torch.inf)
        if own is not None:
            block.masked_fill_(own[rows, None] == own, torch.inf)
        block.diagonal(start).fill_(torch.inf)
        yield rows, block
