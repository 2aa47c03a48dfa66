#!/bin/bash
# All shards on a Ray cluster; its nodes have guardtui[ray] of this version and see the folder $OUT
# under the same name. A cluster that wants a token: export RAY_AUTH_MODE=token, and the token as
# RAY_AUTH_TOKEN or in ~/.ray/auth_token.
set -euo pipefail

TOPIC=${TOPIC:-tax.yaml}
PROMPTS=${PROMPTS:-tax.csv}
OUT=${OUT:-big}
ENCODER=${ENCODER:-static}
CLUSTER=${CLUSTER:-ray://head:10001}
JOBS=${JOBS:-16} # workers, of a core each; those too many wait

guardtui eval "$TOPIC" --prompts "$PROMPTS" --set "encoder=$ENCODER" \
    --out "$OUT" --executor ray --address "$CLUSTER" --jobs "$JOBS" "$@"
