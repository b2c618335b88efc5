// The first screen of the site: a sentence, and what two translators make of it. LIVE has the words, the sentences and
// the shares of right sentences (tools/site/live.py); each script with weights adds a system to LIVE.weights.

import { bahdanau, readWeights, seq2seq, transformer } from "./engine.js";
import { END, appearAfter, drawAttention, drawVector, fitInRows, isolateLines } from "./picture.js";
import { LONGEST_SOURCE, compare, nearWords, offers, readSentence } from "./words.js";

const SYSTEMS = { seq2seq, bahdanau, transformer };
const LAYER = 1; // of the Transformer's decoder, whose heads' mean is shown

const find = (id) => document.getElementById(id);
const [form, field, offered, note, longer, verdict] = ["form", "text", "offers", "note", "longer", "verdict"].map(find);
const numberOf = new Map(LIVE.words.map((word, i) => [word, i]));
const known = new Set(LIVE.english);
const loaded = {};

// ---- the translators

function loadSystem(name) {
  return (loaded[name] ??= new Promise((resolve, reject) => {
    if (LIVE.weights[name]) return resolve();
    document.head.append(Object.assign(document.createElement("script"), { src: `live/${name}.js`, onload: resolve, onerror: reject }));
  }).then(() => readWeights(LIVE.weights[name])));
}

async function answer(name, source) {
  const weights = await loadSystem(name);
  const { words, maps, vector } = SYSTEMS[name](weights, source.map((word) => numberOf.get(word)));
  const mean = (heads) => heads[0].map((_, j) => heads.reduce((sum, head) => sum + head[j], 0) / heads.length);
  return {
    target: words.map((word) => LIVE.words[word]),
    maps: name === "transformer" ? maps.map((layers) => mean(layers[LAYER])) : maps,
    vector,
  };
}

// ---- the sentence: one's own or the example, and clauses that the button adds

let sentence = { text: LIVE.start.text, right: LIVE.start.right.split(" "), known: 0, past: false, added: 0 };

const clausesFor = ({ past }) => LIVE.clauses[past ? "past" : "present"];
const addedTo = (base) => clausesFor(base).slice(0, base.added);
const textOf = (base) => [base.text, ...addedTo(base).map(({ text }) => text)].join(" ");

function rightOf(base) {
  if (base.known && !base.added) return null; // a sentence of one's own: no right translation is known
  return [...base.right, ...addedTo(base).flatMap(({ right }) => right.split(" "))];
}

function ownSentence(words, target) {
  const past = words.some((word) => LIVE.past.includes(word));
  return { text: words.join(" "), right: target, known: target.length, past, added: 0 };
}

function canGrow(base) {
  const next = clausesFor(base)[base.added];
  const words = readSentence(textOf(base));
  return next && !words.includes("?") && words.length + readSentence(next.text).length <= LONGEST_SOURCE;
}

// ---- what is shown

let shown = null;

async function show() {
  const source = readSentence(textOf(sentence));
  const second = new FormData(form).get("second");
  let answers;
  try {
    answers = await Promise.all(["seq2seq", second].map((name) => answer(name, source)));
  } catch {
    note.textContent = "This page couldn't load the translators. Reload it, or use a newer browser.";
    return;
  }
  const right = rightOf(sentence);
  const results = answers.map((result) => ({ source, ...result, ...(right ? compare(result.target, right, sentence.known) : { wrong: new Set(), count: null }) }));
  const attendsToEnd = results[1].target.some((_, i) => results[1].maps[i][source.length] >= 0.05);
  if (attendsToEnd) results[1].source = [...source, END];
  shown = results;
  draw();
  find("about-two").textContent = LIVE.about[second];
  ["one", "two"].forEach((id, i) => {
    const { count, target } = results[i];
    find(id).textContent = count === null ? "" : `· ${count || "no"} ${count === 1 ? "word" : "words"} wrong`;
    find(id).className = count ? "bad" : "";
    appearAfter(find(id), target.length);
  });
  verdict.textContent = sayWhatHappened(results, source.length, second);
  appearAfter(verdict, Math.max(...results.map(({ target }) => target.length)));
  find("answers").textContent = `One vector: ${results[0].target.join(" ")}. Attention: ${results[1].target.join(" ")}.`;
  longer.textContent = canGrow(sentence) ? "Make it longer" : "Start again";
  document.body.dataset.shown = textOf(sentence);
}

function draw() {
  const place = find("seq2seq");
  find("pair").className = "";
  const inRows = fitInRows(shown.flatMap(({ source, target }) => [source, target]), place.clientWidth);
  find("pair").className = inRows ? "" : "columns";
  find("seq2seq").innerHTML = drawVector(shown[0], place.clientWidth, inRows);
  find("attention").innerHTML = drawAttention(shown[1], place.clientWidth, inRows);
}

function sayWhatHappened([one, two], length, second) {
  if (one.count === null) return "Did they get it right? Now make your sentence longer.";
  const group = LIVE.rates.find(({ most }) => length <= most) ?? LIVE.rates.at(-1);
  const rates = `Among ${group.n} test sentences of ${group.words} words, the first gets ${group.seq2seq}% right, the second ${group[second]}%.`;
  if (!one.count && !two.count) return `Both get ${sentence.known ? "what was added" : "it"} right. Make it longer.`;
  if (!two.count) return `The vector loses words; the translator that looks back at each word loses none. Not only here: ${rates.replace("Among", "among")}`;
  return `${one.count ? "Both make" : "Now the second makes"} mistakes. ${rates}`;
}

// ---- typing

function showOffers() {
  offered.replaceChildren(...offers(field.value, LIVE).map((word) => wordButton(word, () => complete(word))));
}

function wordButton(word, use) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: word });
  button.addEventListener("click", use);
  return button;
}

function complete(word) {
  const last = field.value.match(/\S*$/)[0];
  const kept = known.has(last) && !word.startsWith(last) ? `${last} ` : "";
  write(field.value.replace(/\S*$/, `${kept}${word} `));
  field.focus();
}

function write(text) {
  field.value = text;
  fit();
  showOffers();
}

function fit() {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + 3}px`;
}

function replaceUnknown(unknown, near) {
  write(readSentence(field.value).map((word) => (word === unknown ? near : word)).join(" "));
  translateTyped();
}

async function translateTyped() {
  const words = readSentence(field.value);
  const unknown = words.find((word) => !known.has(word));
  note.replaceChildren();
  if (unknown) {
    const near = nearWords(unknown, LIVE.english).map((word) => wordButton(word, () => replaceUnknown(unknown, word)));
    note.append(`Their small world has no word “${unknown}”. Near it: `, ...near);
    return;
  }
  if (!words.length || words.length > LONGEST_SOURCE) {
    note.textContent = `Type 1 to ${LONGEST_SOURCE} words.`;
    return;
  }
  if (words.join(" ") !== textOf(sentence)) sentence = ownSentence(words, (await answer("bahdanau", words)).target);
  show();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  translateTyped();
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  translateTyped();
});
field.addEventListener("input", () => {
  fit();
  showOffers();
});
longer.addEventListener("click", () => {
  if (canGrow(sentence)) sentence = { ...sentence, added: sentence.added + 1 };
  else sentence = { text: LIVE.start.text, right: LIVE.start.right.split(" "), known: 0, past: false, added: 0 };
  write(textOf(sentence));
  note.replaceChildren();
  show();
});
for (const choice of document.querySelectorAll('[name="second"]')) choice.addEventListener("change", show);
isolateLines(find("attention"));

let drawnFor = 0;
new ResizeObserver(([{ contentRect }]) => {
  if (shown && contentRect.width !== drawnFor) draw();
  drawnFor = contentRect.width;
}).observe(find("pair"));

write(textOf(sentence));
show();
