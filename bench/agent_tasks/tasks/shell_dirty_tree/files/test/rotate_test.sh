#!/bin/sh
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo one > "$folder/app.log"
sh bin/rotate.sh "$folder/app.log" 3
[ "$(cat "$folder/app.log.1")" = one ]
echo ok
