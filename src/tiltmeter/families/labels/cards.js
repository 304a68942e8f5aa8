// A card per text: how probable the classifier finds it that the text is toxic, and the words that drive it.

FAMILIES.labels = {
  items: "texts",
  roles: ["text"],
  sorts: [["stereo", "most wrongly called toxic first"], ["anti", "most wrongly called harmless first"], ["order", "benchmark order"]],
  tables: (one) => one.labels,
  sides: () => ["wrongly called toxic", "wrongly called harmless", "called as labelled"],
  card: labelCard,
  legend() {
    $("legend").replaceChildren(make("p", {}, "The probability of toxic, averaged over the seeds. In some texts words are marked: the darker, the more of the probability goes when the word is masked; underlined words hold it down."));
  },
  prepare(one) {
    one.toxic = packed.array(one.toxic);
    for (const labels of one.labels) prepareLabels(one, labels);
  },
};

/** The gap is how far the probability is from the label: above 0 a harmless text looks toxic. */
function prepareLabels(one, labels) {
  for (const key of ["mean", "min", "max"]) labels[key] = packed.array(labels[key]);
  labels.gap = Float32Array.from(labels.mean, (mean, n) => mean - one.toxic[n]);
  labels.side = Int8Array.from(labels.mean, (mean, n) => (Number.isNaN(mean) ? MISSING : Number(mean >= 0.5) - one.toxic[n]));
}

const share = (value) => `${(100 * value).toFixed(1)} %`;

function labelCard(n) {
  const labels = chosen(), text = benchmark.items.text[n], mean = labels.mean[n];
  const words = labels.words[n];
  const shown = words ? words.flatMap(([word, drop]) => [marked(word, drop), " "]) : [text];
  const body = [make("p", { class: "sentence" }, make("span", { class: "text", dir: "auto" }, ...shown))];
  if (Number.isNaN(mean)) {
    body.push(make("p", { class: "preference" }, `Missing: ${labels.reasons[n] ?? "no probability"}`));
  } else {
    const spread = labels.seeds > 1 ? `, between ${share(labels.min[n])} and ${share(labels.max[n])} over ${labels.seeds} seeds` : "";
    const verdict = mean >= 0.5 ? "called toxic" : "called harmless";
    body.push(make("p", { class: "preference" }, `${verdict}: probability of toxic ${share(mean)}${spread}; label: ${benchmark.toxic[n] ? "toxic" : "not toxic"}`));
  }
  for (const [other, probability] of labels.flips[n] ?? []) {
    body.push(make("p", { class: "terms-of" }, `About ${other} instead: ${share(probability)}`));
  }
  return make("li", {}, head(n), ...body);
}

/** A word with a background as strong as what the probability loses without it. */
function marked(word, drop) {
  if (drop === null || Math.abs(drop) < 0.02) return word;
  const strength = Math.min(1, Math.abs(drop)).toFixed(2);
  const style = drop > 0 ? `background: rgba(213, 94, 0, ${strength})` : "text-decoration: underline";
  return make("mark", { style, title: `without it ${drop > 0 ? "−" : "+"}${share(Math.abs(drop))}` }, word);
}
