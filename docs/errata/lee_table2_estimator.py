"""Lee & Rhee 2024: table 2 does not name its estimator.

It is SMILE-inf: the rows of depth 2 equal those of SMILE-inf in table 3.
"""

import numpy as np
import pandas as pd

table3 = pd.read_csv("analysis/published/table3.csv", comment="#")
second = pd.read_csv("analysis/published/table2.csv", comment="#")
second = second[second["depth"] == 2].set_index("domain")["mse_bits2"]
third = (
    table3[table3["true_bits"] == 2]
    .pivot(index="domain", columns="bound", values="mse_bits2")
    .loc[second.index]
)
same = [bound for bound in third if np.allclose(third[bound], second)]
print(f"{len(second)} domains; the same figures in table 3: {', '.join(same)}")
assert same == ["smile-inf"]
