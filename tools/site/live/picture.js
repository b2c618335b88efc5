// A translation as SVG: the English words, the French words with their meanings, and between them the vector or the
// attention weights. They are in two rows or, where these don't fit, in two columns, as large as the text around.

export const END = "(end)"; // the token after the last word, to which a decoder can attend too

const FONT = '16px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const SMALL = 13;
const SPACE = 14; // between the words of a row
const PITCH = 28; // from word to word of a column
const DELAY = 90; // ms from word to word of an answer
const LEAST = 0.02; // attention weights below it aren't drawn
const THICKEST = 8;

const pen = document.createElement("canvas").getContext("2d");
pen.font = FONT;
const widthOf = (word) => pen.measureText(word).width;
const meaningOf = (word) => LIVE.meanings[word] ?? "";
const widthOfMeaning = (word) => (SMALL * widthOf(meaningOf(word))) / 16;
const both = (word) => Math.max(widthOf(word), widthOfMeaning(word));
const rowWidth = (words, width = widthOf) => words.reduce((sum, word) => sum + width(word) + SPACE, 0);
const escape = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const later = (i) => `style="animation-delay:${i * DELAY}ms"`;

// The part appears once an answer of so many words has.
export function appearAfter(part, words) {
  part.classList.remove("appears");
  part.style.animationDelay = `${words * DELAY}ms`;
  part.getBoundingClientRect(); // so that the animation begins again
  part.classList.add("appears");
}

// ---- where the words are, and how a line gets from one to another

export function fitInRows(answers, width) {
  return answers.every(({ source, target }) => rowWidth(source) <= width && rowWidth(target, both) <= width);
}

function rows(source, target, width) {
  const places = (words, y, lineY, widthOf) => {
    const total = rowWidth(words, widthOf);
    const stretch = Math.min(1.7, width / total);
    let edge = (width - total * stretch) / 2;
    return words.map((word) => {
      const space = (widthOf(word) + SPACE) * stretch;
      edge += space;
      const x = `x="${(edge - space / 2).toFixed(1)}" text-anchor="middle"`;
      return { x: edge - space / 2, y: lineY, text: `${x} y="${y}"`, meaning: `${x} y="${y + 18}"` };
    });
  };
  return {
    width,
    height: 206,
    from: places(source, 20, 30, widthOf),
    to: places(target, 180, 160, both),
    middle: { x: width / 2, y: 95 },
    bend: (a, b) => `${a.x} ${(a.y + b.y) / 2} ${b.x} ${(a.y + b.y) / 2}`,
  };
}

function columns(source, target, width) {
  const [left, right, meaning] = [[source, widthOf], [target, widthOf], [target, widthOfMeaning]].map(
    ([words, width]) => Math.max(0, ...words.map(width)),
  );
  const rest = width - left - right - meaning - 8;
  const gap = Math.max(48, Math.min(200, rest - 16));
  const start = (rest - gap) / 2 + left;
  const height = PITCH * Math.max(source.length, target.length) + 8;
  const places = (words, x, shift, anchor) =>
    words.map((_, i) => {
      const y = `y="${PITCH * i + 22}" text-anchor="${anchor}"`;
      return { x: x + shift, y: PITCH * i + 17, text: `x="${x.toFixed(1)}" ${y}`, meaning: `x="${(x + right + 8).toFixed(1)}" ${y}` };
    });
  return {
    width,
    height,
    upright: true,
    from: places(source, start, 8, "end"),
    to: places(target, start + gap, -8, "start"),
    middle: { x: start + gap / 2, y: height / 2 },
    bend: (a, b) => `${(a.x + b.x) / 2} ${a.y} ${(a.x + b.x) / 2} ${b.y}`,
  };
}

// ---- drawing

function line(arrangement, a, b, width, attributes) {
  return `<path d="M${a.x} ${a.y}C${arrangement.bend(a, b)} ${b.x} ${b.y}" fill="none" stroke-width="${width.toFixed(1)}" ${attributes}/>`;
}

function frame(arrangement, source, target, wrong, lines, describe) {
  const english = source.map(
    (word, j) => `<text ${arrangement.from[j].text} data-from="${j}" aria-hidden="true"${word === END ? ' class="mark"' : ""}>${escape(word)}</text>`,
  );
  const french = target.map((word, i) => {
    const { text, meaning } = arrangement.to[i];
    const label = `${word}, “${meaningOf(word)}”${wrong.has(i) ? ", wrong" : ""}${describe ? describe(i) : ""}`;
    const names = `appears${wrong.has(i) ? " wrong" : ""}`;
    return (
      `<text ${text} ${later(i)} class="${names}" data-to="${i}" ${describe ? 'tabindex="0"' : ""} role="img" aria-label="${escape(label)}">${escape(word)}</text>` +
      `<text ${meaning} ${later(i)} class="appears meaning" aria-hidden="true">${escape(meaningOf(word))}</text>`
    );
  });
  return `<svg width="${arrangement.width}" height="${arrangement.height}" role="group" aria-label="translation">${lines.join("")}${english.join("")}${french.join("")}</svg>`;
}

// Every word goes into the vector, and the translation comes out of it; a sample of its numbers is shown.
export function drawVector({ source, target, vector, wrong }, width, inRows) {
  const arrangement = (inRows ? rows : columns)(source, target, width);
  const { upright, middle } = arrangement;
  const cell = 9;
  const room = upright ? arrangement.height - 12 : width * 0.6;
  const shown = Math.min(40, Math.floor(room / cell));
  const half = (shown * cell) / 2;
  const point = (along, across) => (upright ? { x: middle.x + across, y: middle.y + along } : { x: middle.x + along, y: middle.y + across });
  const box = (at, long, wide, attributes) => {
    const [w, h] = upright ? [wide, long] : [long, wide];
    return `<rect x="${at.x}" y="${at.y}" width="${w}" height="${h}" ${attributes}/>`;
  };
  const lines = [
    ...arrangement.from.map((word) => line(arrangement, word, point(0, -11), 1.3, 'class="calm"')),
    ...arrangement.to.map((word, i) => line(arrangement, point(0, 11), word, 1.3, `class="calm appears" ${later(i)}`)),
    box(point(-half - 5, -10), 2 * half + 9, 20, 'rx="5" class="box"'),
  ];
  for (let i = 0; i < shown; i++) {
    const number = vector[Math.floor((i * vector.length) / shown)];
    const strength = (0.1 + 0.9 * Math.tanh(Math.abs(number) / 2)).toFixed(2);
    lines.push(box(point(i * cell - half, -4), 8, 8, `rx="1.5" class="${number > 0 ? "positive" : "negative"}" fill-opacity="${strength}"`));
  }
  return frame(arrangement, source, target, wrong, lines);
}

// A line's thickness is the attention weight; maps[i][j] is that of English word j when French word i was written.
export function drawAttention({ source, target, maps, wrong }, width, inRows) {
  const arrangement = (inRows ? rows : columns)(source, target, width);
  const lines = target.flatMap((_, i) =>
    source.map((_, j) => {
      if (maps[i][j] < LEAST) return "";
      const names = `class="line appears" data-to="${i}" data-from="${j}" ${later(i)}`;
      return line(arrangement, arrangement.from[j], arrangement.to[i], THICKEST * maps[i][j], names);
    }),
  );
  const describe = (i) => {
    const ranked = source.map((word, j) => [maps[i][j], word]).sort((a, b) => b[0] - a[0]);
    const most = ranked.filter(([weight], rank) => rank < 3 && weight >= 0.1);
    return `; attends to ${most.map(([weight, word]) => `${word} ${Math.round(100 * weight)}%`).join(", ") || "many words"}`;
  };
  return frame(arrangement, source, target, wrong, lines, describe);
}

// Pointing at a word, or moving the focus to it, leaves only its lines.
export function isolateLines(place) {
  const show = ({ to, from } = {}) => {
    for (const { classList, dataset } of place.querySelectorAll(".line")) {
      classList.toggle("dim", (to !== undefined && dataset.to !== to) || (from !== undefined && to === undefined && dataset.from !== from));
    }
  };
  for (const kind of ["pointerover", "focusin"]) place.addEventListener(kind, (event) => show(event.target.dataset));
  for (const kind of ["pointerleave", "focusout"]) place.addEventListener(kind, () => show());
}
