"""Whether summary.csv has the right form; it does not know what is in the reports."""

import csv
import pathlib
import sys

rows = list(csv.reader(pathlib.Path("summary.csv").open()))
names = sorted(path.stem for path in pathlib.Path("reports").glob("*.md"))
if rows[0] != ["report", "service", "minutes"]:
    sys.exit("the header is wrong")
if [row[0] for row in rows[1:]] != names:
    sys.exit("the reports are not all there, or not in order")
if not all(len(row) == 3 and row[1] and row[2].isdigit() for row in rows[1:]):
    sys.exit("a row is not a name, a service and whole minutes")
print("the form is right")
