#!/bin/bash
#SBATCH --job-name=guardtui-judge
#SBATCH --array=0-7
#SBATCH --exclusive
#SBATCH --gres=gpu:1
#SBATCH --mem=0
#SBATCH --time=04:00:00
#SBATCH --output=judge-%A-%a.log

# One server and one shard for each task of the array. When all are done: guardtui merge judged
# Tasks that failed, of an array of 8: sbatch --array=3,5 --export=ALL,SHARDS=8 slurm_judge.sh
set -euo pipefail

TOPIC=${TOPIC:-tax.yaml}
PROMPTS=${PROMPTS:-tax.csv}
OUT=${OUT:-judged}
WEIGHTS=${WEIGHTS:-Qwen/Qwen3-8B}
NAME=${NAME:-judge}
AT_ONCE=${AT_ONCE:-64}
PORT=${PORT:-8000}
GPUS=${GPUS:-${SLURM_GPUS_ON_NODE:-1}}
LOADING=${LOADING:-900} # seconds until the server has to answer
SHARDS=${SHARDS:-$SLURM_ARRAY_TASK_COUNT}

work=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 143' TERM

# A judge is known by its URL and name: every task has a node of its own, so that all servers have
# the same URL and the parts can be merged.
url="http://127.0.0.1:$PORT/v1"
if curl --silent --max-time 5 --output "$work/models.json" "$url/models"; then
    echo "another server answers on port $PORT of this node: set PORT" >&2
    exit 3
fi
vllm serve "$WEIGHTS" --served-model-name "$NAME" --host 127.0.0.1 --port "$PORT" \
    --data-parallel-size "$GPUS" >&2 &
server=$!

started=$SECONDS
until curl --silent --fail --max-time 5 --output "$work/models.json" "$url/models"; do
    if ! kill -0 "$server" 2>/dev/null; then
        echo "the server ended before it answered" >&2
        exit 3
    fi
    if [ $((SECONDS - started)) -ge "$LOADING" ]; then
        echo "the server does not answer after $LOADING s" >&2
        exit 3
    fi
    sleep 1
done

# The cache is a database: one for each task, not one for all.
export GUARDTUI_CACHE="$OUT.cache/$SLURM_ARRAY_TASK_ID"
guardtui eval "$TOPIC" --prompts "$PROMPTS" \
    --guardrail "judge:$url#$NAME" --set "concurrency=$AT_ONCE" \
    --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" --out "$OUT"
