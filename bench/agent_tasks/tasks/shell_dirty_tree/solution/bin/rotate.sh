#!/bin/sh
# rotate.sh FILE KEEP: FILE becomes FILE.1, FILE.1 becomes FILE.2, ...; FILE.KEEP is the last one.
set -eu
file=$1
keep=$2

at=$keep
while [ "$at" -gt 1 ]; do
    previous=$((at - 1))
    if [ -e "$file.$previous" ]; then
        mv "$file.$previous" "$file.$at"
    fi
    at=$previous
done
if [ -e "$file" ]; then
    mv "$file" "$file.1"
fi
