#!/bin/sh
# Draws every figure in this folder anew: docs/figures/make.sh RUN [FREQUENCY OPTIONS]
# RUN came from: tiltmeter run -m mlm-wiki -m mlm-fiction -m mlm-cased -m roberta-mix -b crows-pairs -b stereoset -o RUN
# Only pictures are kept here (SVG and PDF come out of the same commands). The tables hold words and ids of benchmarks that
# have licences of their own.
set -eu
run=$1
shift
here=$(dirname "$0")
tiltmeter figure estimates "$run" --width two -o "$here/estimates.png"
for study in accuracy shuffling agreement normality correlation robustness pll-gap power quality frequency; do
  out=$(mktemp -d)
  if [ "$study" = frequency ]; then tiltmeter study "$study" "$run" -o "$out" "$@"; else tiltmeter study "$study" "$run" -o "$out"; fi
  for figure in "$out"/*.png; do
    name=$(basename "$figure")
    case "$name" in "$study".*) cp "$figure" "$here/$name" ;; *) cp "$figure" "$here/$study-$name" ;; esac
  done
  rm -r "$out"
done
