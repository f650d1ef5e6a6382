"""
A table with text, gaps and dates
=================================

A pipeline of scikit-learn has no ``partial_fit``.  ``TableClassifier`` takes the rows of a data frame as they come:
numbers of any scale, words, dates, gaps, and words that nobody has seen before.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fbtwsvm import FBTWSVM, TableClassifier

# %%
# Will an order be returned?  In Oslo the dear things come back, in Rome the cheap ones.  From row 2,000 on there are
# orders from Paris as well, which come back if they were made at the weekend.

random = np.random.default_rng(0)
ROWS, PARIS = 4000, 2000
shop = random.choice(["Oslo", "Rome"], ROWS).astype(object)
shop[PARIS:][random.random(ROWS - PARIS) < 0.4] = "Paris"
price = random.lognormal(4.0, 0.6, ROWS)
weekend = random.random(ROWS) < 0.4
returned = np.select([shop == "Oslo", shop == "Rome"], [price > 55, price < 55], weekend)
orders = pd.DataFrame({"price": price, "shop": shop, "weekend": np.where(weekend, "yes", "no")})
orders["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(ROWS) // 20, unit="D")
orders.loc[random.random(ROWS) < 0.03, "price"] = None
orders.loc[random.random(ROWS) < 0.03, "shop"] = None
print(orders.tail(4))

# %%
# The rows come fifty at a time; each chunk is answered first and learned afterwards.  Inside, each word becomes a
# column of its own; Paris has taken one of the five that were spare for words that come later.

model = TableClassifier(FBTWSVM(decay="auto", random_state=0))
right = np.full(ROWS, np.nan)
for first in range(0, ROWS, 50):
    chunk, labels = orders[first : first + 50], returned[first : first + 50]
    if first:
        right[first : first + 50] = model.predict(chunk) == labels
    model.partial_fit(chunk, labels)
print(", ".join(name for name in model.encoded_names_ if "later" not in name))

# %%
# Orders from Paris are often answered wrongly at first, and are learned while the answers for the other shops stay as
# good as before.  (On the first 500 rows, while it still finds out what the columns are like, a provisional model
# answers, which is worse.)  On the right, the importance of a column sums up all that the model made of it.

figure, (left, bars) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=[5, 3])
for name, rows, colour in (("Oslo and Rome", shop != "Paris", "#3f90da"), ("Paris", shop == "Paris", "#bd1f01")):
    hits = pd.Series(right[rows]).rolling(150, min_periods=40).mean()
    left.plot(np.flatnonzero(rows), hits, color=colour, label=name)
    print(f"{name}: {100 * np.nanmean(right[rows][-500:]):.1f} % of the last 500 orders right")
left.axvline(PARIS, color="black", linestyle=":", linewidth=1, label="the first order from Paris")
left.set(xlabel="rows", ylabel="accuracy on the last 150 orders", title="Tested before learned", ylim=(0.4, 1.01))
left.legend(frameon=False, loc="lower right")
bars.barh(model.feature_names_in_, model.feature_importances_, color="#717581")
bars.set(xlabel="importance", title="Columns of the table")
