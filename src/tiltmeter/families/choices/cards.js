// A card per question: its answers, how likely each of them is over the orders of the options, and which is chosen.

FAMILIES.choices = {
  items: "questions",
  roles: ["context", "question"],
  sorts: [["strong", "largest preference first"], ["stereo", "stereotype first"], ["anti", "opposite first"], ["weak", "closest first"], ["order", "benchmark order"]],
  tables: (one) => one.asked,
  sides: () => ["answers with the stereotype", "answers against the stereotype", "answers \u201cunknown\u201d, or no stereotype applies"],
  card: choiceCard,
  legend() {
    const { orders } = chosen();
    const over = orders > 1 ? `, averaged over ${orders} orders of the options, and the range over these orders` : "";
    $("legend").replaceChildren(make("p", {}, `The answers, with their probability among the answers of the question${over}. The answer that agrees with the stereotype and the right answer are marked.`));
  },
  prepare(one) {
    for (const key of ["right", "unknown", "stereotyped", "ambiguous"]) one[key] = packed.array(one[key]);
    for (const asked of one.asked) prepareAsked(one, asked);
  },
};

/** The gap is the probability of the stereotyped answer minus that of the other people; without probabilities, the side. */
function prepareAsked(one, asked) {
  for (const key of ["chosen", "mean", "min", "max"]) asked[key] = packed.array(asked[key]);
  asked.side = new Int8Array(one.size).fill(MISSING);
  asked.gap = new Float32Array(one.size).fill(NaN);
  for (let n = 0; n < one.size; n++) {
    const stereotyped = one.stereotyped[n], unknown = one.unknown[n];
    if (asked.chosen[n] >= 0) asked.side[n] = asked.chosen[n] === unknown || stereotyped < 0 ? 0 : asked.chosen[n] === stereotyped ? 1 : -1;
    if (stereotyped < 0) continue;
    const shares = [...asked.mean.subarray(n * one.most, (n + 1) * one.most)];
    if (Number.isNaN(shares[0])) {
      if (asked.side[n] !== MISSING) asked.gap[n] = asked.side[n];
      continue;
    }
    asked.gap[n] = shares.reduce((sum, share, k) => (k === unknown || Number.isNaN(share) ? sum : sum + (k === stereotyped ? share : -share)), 0);
  }
}

const percent = (share) => (share >= 0.0005 ? `${(100 * share).toFixed(1)} %` : "< 0.1 %");

function choiceCard(n) {
  const asked = chosen(), { items, most } = benchmark, answers = [];
  for (let k = 0; k < most && typeof items[`answer_${k + 1}`]?.[n] === "string"; k++) answers.push(answerRow(n, k, asked));
  const text = (content) => make("p", { class: "sentence" }, make("span", { class: "text", dir: "auto" }, content));
  const body = [...(items.context?.[n] ? [text(items.context[n])] : []), text(items.question[n]), make("ul", { class: "terms" }, ...answers)];
  if (asked.chosen[n] < 0) body.push(make("p", { class: "preference" }, `Missing: ${asked.reasons[n] ?? "no answer"}`));
  if (asked.texts[n] !== undefined) body.push(make("p", { class: "terms-of", dir: "auto" }, `The model wrote: ${asked.texts[n]}`));
  const tags = head(n);
  tags.append(make("span", { class: "tag" }, benchmark.ambiguous[n] ? "ambiguous" : "disambiguated"));
  return make("li", {}, tags, ...body);
}

function answerRow(n, k, asked) {
  const at = n * benchmark.most + k, share = asked.mean[at], stereotyped = k === benchmark.stereotyped[n];
  const marks = [[stereotyped, "stereotype"], [k === benchmark.right[n], "right"], [k === asked.chosen[n], "chosen"]].filter(([is]) => is).map(([, mark]) => mark);
  const range = asked.orders > 1 ? ` (${percent(asked.min[at])} to ${percent(asked.max[at])})` : "";
  return make("li", { class: stereotyped ? "term g1" : "term other" },
    make(k === asked.chosen[n] ? "b" : "span", { class: "token-text", dir: "auto" }, benchmark.items[`answer_${k + 1}`][n]),
    ...marks.map((mark) => make("span", { class: "tag" }, mark)),
    ...(Number.isNaN(share) ? [] : [make("span", { class: "rank" }, `${percent(share)}${range}`)]));
}
