#!/bin/sh
# Make the tables of this folder again: sh research/page-tables/make.sh DATA MODELS TEXT WORK (some 20 minutes of one core).
set -e
data=$1 models=$2 text=$3 work=$4 here=$(dirname "$0")
export TILTMETER_DATA="$data" OMP_NUM_THREADS=1
mkdir -p "$work"

# docs/models.md, and the shared prefixes of docs/large-models.md
masked=$(printf -- "-m $models/%s " distilbert-wiki mlm-cased mlm-fiction mlm-small mlm-wiki roberta-mix)
tiltmeter run -m plumb-mlm $masked -b crows-pairs -b stereoset -s cps -s aul -s sss --by all --no-report -o "$work/masked"
tiltmeter run -m plumb-clm -m "$models/clm-fiction" -m "$models/clm-wiki" -b crows-pairs -b stereoset -s causal \
  -s causal_mean --by all --no-report -o "$work/causal"
tiltmeter run -m plumb-clm -b bbq --category Age --limit 384 --protocol letters --no-report -o "$work/age"

# docs/choices.md
tiltmeter run -m plumb-clm -b plumb-choices --protocol letters --protocol answers --protocol answers_mean --by all --no-report \
  -o "$work/protocols"

# docs/decisions.md, docs/benchmarks.md, docs/association-definitions.md
tiltmeter run -m plumb-clm -b plumb-decisions --no-report -o "$work/decisions"
tiltmeter run -m plumb-clm -m plumb-mlm -b toxigen-safety --no-report -o "$work/toxigen"
tiltmeter run -m plumb-mlm -m "$models/mlm-wiki" -m "$models/mlm-fiction" -b ceat -b ceat-labels --corpus "$text" --contexts 12 \
  --draws 500 --no-report -o "$work/ceat"

# docs/research-choices.md, docs/intervals.md
for category in Age Religion; do
  tiltmeter import "$data/bbq/results/UnifiedQA/preds_$category.jsonl" -b bbq --category $category -m unifiedqa \
    --columns prediction=unifiedqa-t5-11b_pred_race -o "$work/$category"
  tiltmeter estimate "$work/$category" --resamples 4000 --json >"$work/clusters-$category.json"
  tiltmeter estimate "$work/$category" --resamples 4000 --no-clusters --json >"$work/rows-$category.json"
done
python "$here/keep.py" answers "$data" "$work/first-answers.jsonl"
tiltmeter import "$work/first-answers.jsonl" -b bbq -m first-answer -o "$work/first"
tiltmeter study implementations "$work/first" -o "$work/implementations"

# docs/intervals.md
tiltmeter run -m plumb-clm -b winobias --limit 400 -s causal --by all --no-report -o "$work/winobias"
tiltmeter run -m plumb-clm -b winogender -s causal --by all --no-report -o "$work/winogender"
tiltmeter run -m plumb-clm -b stereoset --limit 400 -s stereoset_causal --by all --no-report -o "$work/triples"
tiltmeter run -m plumb-clm -b plumb-prompts --samples 5 --judge sentiment=vader --by all --no-report -o "$work/prompts"
tiltmeter run -m plumb-clm -b bold --limit 400 --judge sentiment=vader --by all --no-report -o "$work/bold"
for run in winobias winogender triples prompts bold; do
  tiltmeter estimate "$work/$run" --json >"$work/clusters-$run.json"
  tiltmeter estimate "$work/$run" --no-clusters --json >"$work/rows-$run.json"
done

# docs/slots.md
python "$here/keep.py" stages "$data/samory-callme-sexist/sexism_data.csv" "$here/sexism-stages.json"

python "$here/keep.py" tables "$work" "$here"
