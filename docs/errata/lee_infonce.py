"""Lee & Rhee 2024: the error of InfoNCE at 8 and 10 bits is the batch size.

InfoNCE cannot exceed log2 64 = 6 bits for any critic. At least 4 and 16 bits² of its
printed squared errors come from this limit, in every domain.
"""

import pandas as pd

table3 = pd.read_csv("analysis/published/table3.csv", comment="#")
printed = table3[(table3["bound"] == "infonce") & (table3["true_bits"] >= 8)]
for row in printed.itertuples():
    least = (row.true_bits - 6) ** 2
    print(
        f"{row.domain:9} {row.true_bits} bits: printed {row.mse_bits2:.1f} bits², at "
        f"least {least} from the batch size"
    )
assert (printed["mse_bits2"] > (printed["true_bits"] - 6) ** 2).all()
