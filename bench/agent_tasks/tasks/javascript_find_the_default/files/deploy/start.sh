#!/bin/sh
# Starts the relay as it runs in production.
export RELAY_PROFILE=bulk
export RELAY_INFLIGHT=
exec node src/main.js
