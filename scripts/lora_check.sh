#!/bin/sh
# CDA by LoRA on a causal model, measured before and after: scripts/lora_check.sh MODEL FOLDER-WITH-TEXT OUT
set -eu
model=$1 texts=$2 out=$3
work=$(mktemp -d)
export TILTMETER_CACHE="$work/cache"
python -m tiltmeter debias cda -m "$model" --text "$texts/text.txt.xz" --lines 40000 --lora 16 --rate 5e-4 \
  --steps 300 --rows 128 --length 128 -o "$work/cda-lora"
python -m tiltmeter run -m "$model" -m "$work/cda-lora" -b plumb-pairs -b "$texts/crows-pairs.csv" -b "$texts/heldout.txt" \
  -o "$work/run" --no-report
python -m tiltmeter study debiasing "$work/run" -o "$work/study"
cp "$work/cda-lora/manifest.json" "$work/run/estimates.csv" "$out"
tar -C "$work" -czf "$out/lora-study.tar.gz" study
