"""Partitioned latents: "~20k (200 batches × 64 batch_size)" samples are 12,800."""

print(f"{200 * 64:,}")
assert 200 * 64 == 12_800
