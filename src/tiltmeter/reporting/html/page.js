"use strict";
// What the whole page needs: the embedded data, downloads, light and dark, and what happens before printing.

const data = JSON.parse(document.getElementById("data").textContent);

/** An element with attributes and children; text is always text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A table of the page as objects that fit all conditions. */
function rowsWhere(table, where) {
  const at = Object.fromEntries(table.columns.map((name, n) => [name, n]));
  return table.rows.filter((row) => Object.entries(where).every(([name, value]) => row[at[name]] === value));
}

/** Texts that a spreadsheet would take for a formula get an apostrophe, as in the files of a run; numbers never. */
function csv(columns, rows) {
  const cell = (value) => {
    const formula = typeof value === "string" && /^'*[=+\-@\t\r\n]/.test(value) && value !== "-inf";
    const text = value === null ? "" : `${formula ? "'" : ""}${value}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function save(name, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A packed element: its header, and a function that gives its arrays. */
async function unpack(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const kinds = {
    int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array,
  };
  return { header, array: ([kind, place, count]) => new kinds[kind](buffer, 4 + length + place, count) };
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.csv, button.file");
  if (!button) return;
  if (button.classList.contains("file")) {
    save(button.dataset.file, (await unpack("files")).header[button.dataset.file]);
  } else {
    const table = data[button.dataset.table];
    save(button.dataset.file, csv(table.columns, rowsWhere(table, JSON.parse(button.dataset.where))));
  }
});

// Light, dark, or as the system says. A file opened from a disk may not be allowed to remember it.
const THEMES = ["system", "light", "dark"];
const themeButton = document.getElementById("theme");

function remembered() {
  try { return localStorage.getItem("tiltmeter-theme"); } catch { return null; }
}

function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  themeButton.textContent = `Theme: ${name}`;
  try { localStorage.setItem("tiltmeter-theme", name); } catch { /* not remembered, no harm */ }
}

let theme = THEMES.includes(remembered()) ? remembered() : "system";
setTheme(theme);
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  setTheme(theme);
});

// Paper cannot be unfolded.
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details.block:not([open])")];
  for (const one of unfolded) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of unfolded) one.open = false;
});
