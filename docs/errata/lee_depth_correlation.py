"""Lee & Rhee 2024, section 5.2: the correlations of depth and accuracy are not those of
table 2.

Printed are -0.007, 0.059 and -0.001. The five rows of the table give 0.67, -0.75 and
0.53. Five single runs leave the sign open: every 95 % interval contains 0. "No
correlation" is not shown.
"""

import pandas as pd
from scipy.stats import pearsonr

for domain, rows in pd.read_csv("analysis/published/table2.csv", comment="#").groupby(
    "domain"
):
    found = pearsonr(rows["depth"], -rows["mse_bits2"])
    low, high = found.confidence_interval()
    print(f"{domain:9} r = {found.statistic:+.2f} (95 %: {low:+.2f} to {high:+.2f})")
    assert abs(found.statistic) > 0.5 and low < 0 < high
