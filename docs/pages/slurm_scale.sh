#!/bin/bash
#SBATCH --job-name=guardtui
#SBATCH --array=0-15
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --time=01:00:00
#SBATCH --output=guardtui-%A-%a.log

# One shard for each task of the array. When all are done: guardtui merge big
# Tasks that failed, of an array of 16: sbatch --array=3,5 --export=ALL,SHARDS=16 slurm_scale.sh
set -euo pipefail

TOPIC=${TOPIC:-tax.yaml}
PROMPTS=${PROMPTS:-tax.csv}
OUT=${OUT:-big}
ENCODER=${ENCODER:-static}
SHARDS=${SHARDS:-$SLURM_ARRAY_TASK_COUNT}

# As many threads as cores were given, not as many as the node has.
threads=${SLURM_CPUS_PER_TASK:-1}
export OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads MKL_NUM_THREADS=$threads
export RAYON_NUM_THREADS=$threads POLARS_MAX_THREADS=$threads

srun guardtui eval "$TOPIC" --prompts "$PROMPTS" --set "encoder=$ENCODER" \
    --out "$OUT" --shard "$SLURM_ARRAY_TASK_ID/$SHARDS"
