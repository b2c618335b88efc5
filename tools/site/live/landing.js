// The first screen of the site: a sentence, and what two translators make of it. LIVE has the words, the sentences and
// the shares of right sentences (tools/site/live.py); each script with weights adds a system to LIVE.weights.

import { bahdanau, readWeights, seq2seq, transformer } from "./engine.js";
import { END, appearAfter, drawAttention, drawVector, fitInRows, isolateLines } from "./picture.js";
import { LONGEST_SOURCE, compare, instead, offers, readSentence } from "./words.js";

const SYSTEMS = { seq2seq, bahdanau, transformer };
const LAYER = 1; // the decoder's second, of which the mean over the heads is shown

const find = (id) => document.getElementById(id);
const [form, field, offered, note, longer, verdict] = ["form", "text", "offers", "note", "longer", "verdict"].map(find);
const numberOf = new Map(LIVE.words.map((word, i) => [word, i]));
const known = new Set(LIVE.english);
LIVE.followers = new Map(Object.entries(LIVE.followers)); // a visitor may type "constructor"
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

const EXAMPLE = { own: false, text: LIVE.start.text, right: LIVE.start.right.split(" "), past: false, added: 0 };
let sentence = EXAMPLE;

const clausesFor = ({ past }) => LIVE.clauses[past ? "past" : "present"];
const addedTo = (base) => clausesFor(base).slice(0, base.added);
const textOf = (base) => [base.text, ...addedTo(base).map(({ text }) => text)].join(" ");

function rightOf(base) {
  if (base.own && !base.added) return null; // nobody knows the right translation
  return [...base.right, ...addedTo(base).flatMap(({ right }) => right.split(" "))];
}

function ownSentence(words, target) {
  const past = words.some((word) => LIVE.past.includes(word));
  return { own: true, text: words.join(" "), right: target, past, added: 0 };
}

function canGrow(base) {
  const next = clausesFor(base)[base.added];
  const words = readSentence(textOf(base));
  return next && !words.includes("?") && words.length + readSentence(next.text).length <= LONGEST_SOURCE;
}

// ---- what is shown

let shown = null;
let asked = 0; // the latest sentence or choice: an earlier one that arrives later isn't shown

function refuse(...text) {
  note.replaceChildren(...text);
  verdict.textContent = "";
  find("pair").classList.add("past");
}

async function show() {
  const mine = ++asked;
  const source = readSentence(textOf(sentence));
  const second = new FormData(form).get("second");
  let answers;
  try {
    answers = await Promise.all(["seq2seq", second].map((name) => answer(name, source)));
    if (mine !== asked) return;
    note.replaceChildren();
  } catch {
    return refuse("This page couldn't load the translators. Reload it, or use a newer browser.");
  }
  const right = rightOf(sentence);
  const unjudged = sentence.own ? sentence.right.length : 0;
  const results = answers.map((result) => ({ source, ...result, ...(right ? compare(result.target, right, unjudged) : { wrong: new Set(), count: null }) }));
  const attendsToEnd = results[1].target.some((_, i) => results[1].maps[i][source.length] >= 0.05);
  if (attendsToEnd) results[1].source = [...source, END];
  shown = results;
  draw();
  find("about-two").textContent = LIVE.about[second];
  ["one", "two"].forEach((id, i) => {
    const { target } = results[i];
    find(id).textContent = countOf(results[i]);
    find(id).className = results[i].count ? "bad" : "";
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
  const inRows = fitInRows(shown, place.clientWidth);
  find("pair").className = inRows ? "" : "columns";
  find("seq2seq").innerHTML = drawVector(shown[0], place.clientWidth, inRows);
  find("attention").innerHTML = drawAttention(shown[1], place.clientWidth, inRows);
}

function countOf({ count, wrong, missing }) {
  if (count === null) return "";
  const words = `${sentence.own ? "added " : ""}${count === 1 ? "word" : "words"}`;
  return `· ${count || "no"} ${words} wrong${missing > wrong.size ? " or missing" : ""}`;
}

function sayWhatHappened([one, two], length, second) {
  if (one.count === null) return "The small words say what each French word means. Did both get it right? Now press “Make it longer”.";
  const part = sentence.own ? "what was added" : "every word";
  if (!one.count && !two.count) return `Both get ${part} right.${canGrow(sentence) ? " Press “Make it longer”." : ""}`;
  const group = LIVE.rates.find(({ most }) => length <= most) ?? LIVE.rates.at(-1);
  const beyond = length > LIVE.longest ? ", longer than any they learned from" : "";
  const rates = `Of test sentences with ${group.words} words${beyond}, the first gets ${group.seq2seq} entirely right, the second ${group[second]}.`;
  if (!two.count) return `One vector isn’t enough: words go wrong. The translator that looks back at each word gets ${part} right. ${rates}`;
  return `${one.count ? "Both get words" : "Now the second gets words"} wrong. ${rates}`;
}

// ---- typing

function showOffers() {
  offered.replaceChildren("Go on with", ...offers(field.value, LIVE).map((word) => wordButton(word, () => complete(word))));
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

function replaceUnknown(unknown, word) {
  write(readSentence(field.value).map((typed) => (typed === unknown ? word : typed)).join(" "));
  translateTyped();
}

async function translateTyped() {
  const mine = ++asked;
  const words = readSentence(field.value);
  const unknown = [...new Set(words.filter((word) => !known.has(word)))];
  if (unknown.length) {
    const [first] = unknown;
    const choices = instead(first, words[words.indexOf(first) - 1] ?? "", LIVE);
    const names = unknown.map((word) => `“${word}”`).join(", ");
    return refuse(`Their small world doesn’t have ${names}. Instead of “${first}”:`, ...choices.map((word) => wordButton(word, () => replaceUnknown(first, word))));
  }
  if (!words.length || words.length > LONGEST_SOURCE) return refuse(`Type 1 to ${LONGEST_SOURCE} words.`);
  if (words.join(" ") !== textOf(sentence)) {
    const { target } = await answer("bahdanau", words).catch(() => ({ target: [] })); // `show` says that it failed
    if (mine !== asked) return;
    sentence = ownSentence(words, target);
  }
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
  else sentence = EXAMPLE;
  write(textOf(sentence));
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
