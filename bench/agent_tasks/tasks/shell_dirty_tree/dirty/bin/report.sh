#!/bin/sh
# report.sh FOLDER: how much the logs of a folder take.
du -sk "$1"
for name in "$1"/*.log; do
    # unfinished
