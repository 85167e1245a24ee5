"""Partitioned latents: a later version of the score gives 0.81 of 1 to constant
latents.

Constant blocks leak nothing, so purity, independence and "theorem compliance" are full.
Only the three of four blocks that should hold something lower the score.
"""

purity, independence, theorem = 1.0, 1.0, 1.0  # constant blocks carry no information
capture = 1 - 3 * 0.25  # z_y, z_d and z_dy are empty; z_x should be empty
constant = 0.30 * purity + 0.25 * independence + 0.25 * capture + 0.20 * theorem
print(f"constant latents: {constant:.2f} of 1")
assert constant > 0.8
