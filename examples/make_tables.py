#!/usr/bin/env python3
"""Write scikit-learn's iris, wine, digits and diabetes as CSV files into this folder (package python3-sklearn)."""
import csv

from sklearn import datasets

for name in ("iris", "wine", "digits", "diabetes"):
    table = getattr(datasets, "load_" + name)()
    with open(name + ".csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*table.feature_names, "target"])
        for features, target in zip(table.data, table.target):
            out.writerow([*features, target if name == "diabetes" else table.target_names[target]])
