// Quizzes and predictions in the reading edition. Python puts the cards of the notebooks before these lines, and marks:
// this file looks up the reply to an answer in the table that comes with the question.

// What read_number in questions/question.py does: the number, or the note that asks for one.
function readNumber(text) {
  const clean = text.trim().replace(/(?<=\d)[\s_'’](?=\d{3}\b)/g, "").replace(/[−–]/g, "-");
  if (/^[+-]?[1-9]\d{0,2}(,\d{3})+$/.test(clean)) {
    const [whole, decimal] = [clean.replaceAll(",", ""), clean.replace(",", ".").replaceAll(",", "")];
    return { note: `Is that ${whole} or ${decimal}? Write it without the comma.` };
  }
  const [top, ...bottoms] = clean.replaceAll(",", ".").split("/").map((part) => part.trim());
  const isDecimal = (part) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(part);
  const readable = bottoms.length < 2 && [top, ...bottoms].every(isDecimal);
  if (readable && Number(bottoms[0]) === 0) return { note: "You can’t divide by 0." };
  const number = readable ? Number(top) / Number(bottoms[0] ?? 1) : NaN;
  return Number.isFinite(number) ? { number } : { note: "Type a number, such as 0.5 or 1/8." };
}

function replyTo(table, answer) {
  if (!Array.isArray(table)) return table[JSON.stringify(Array.isArray(answer) ? answer.sort((a, b) => a - b) : answer)];
  const { number, note } = readNumber(answer);
  if (note) return { note };
  return table.find(([value, reach]) => reach === null || Math.abs(number - value) <= reach)[2];
}

// A model as anywidget gives it: the card sends what was clicked or typed, and gets a new state.
function modelFor(payload, next) {
  const listeners = [];
  let state = {};
  let asked = 0;

  return {
    get: (name) => (name === "payload" ? payload : state),
    on: (name, listen) => listeners.push(listen),
    off() {},
    send: (message) => queueMicrotask(() => { // after the card waits for it
      state = next(state, message, ++asked);
      listeners.forEach((listen) => listen());
    }),
  };
}

// As in the kernel, the first try counts, and each reply has a number.
function showQuiz(place, { payload, replies, remarks }) {
  const next = (state, { question, answer }, asked) => {
    const before = state[question] ?? { tries: 0 };
    const reply = replyTo(replies[question], answer);
    const after = reply.note ? { ...before, note: reply.note } : {
      ...reply,
      remarks: reply.remarks.map((index) => remarks[index]),
      others: reply.others.map((index) => remarks[index]),
      tries: before.tries + 1,
      first: before.tries ? before.first : reply.correct,
      answer,
      note: "",
    };
    return { ...state, [question]: { ...after, asked } };
  };
  quizCard.render({ model: modelFor(payload, next), el: place });
}

// The figure, the answer and the rest of the section are covered until the guess. The card then says the answer, so of
// that only a picture stays.
function showGuess(place, { payload, replies, opened }) {
  const [card, covered] = place.children;
  const later = restOfSection(place);
  const note = make("p", { className: "course-later" }, later.length ? "The rest of this section is covered until then." : "");
  place.append(note);
  covered.hidden = true;
  const uncoverRest = () => {
    note.remove();
    later.forEach((part) => part.removeAttribute("hidden"));
  };
  for (const part of later) {
    part.setAttribute("hidden", "until-found"); // a search in the page, or a link, uncovers it
    part.addEventListener("beforematch", uncoverRest);
  }
  const uncover = () => {
    uncoverRest();
    const answer = covered.querySelector(".course-answer");
    const picture = covered.children.length === 1 && answer.querySelector("img");
    answer.replaceWith(...(picture ? [picture] : []));
    covered.hidden = false;
  };
  const next = (state, message, asked) => {
    const reply = message.open ? {} : replyTo(replies, message.guess);
    if (!reply) return { note: "Choose an answer first.", asked };
    if (reply.note) return { note: reply.note, asked };
    uncover();
    return message.open ? opened : { ...opened, ...reply, guess: guessText(payload.question, message.guess) };
  };
  guessCard.render({ model: modelFor(payload, next), el: card });
}

// What follows a card, up to the next one or the next section.
function restOfSection(place) {
  let part = place.closest(".cell")?.nextElementSibling;
  const parts = [];
  for (; part && !part.matches("section, :has(.course-guess-page)"); part = part.nextElementSibling) parts.push(part);
  return parts;
}

function guessText({ options, unit }, guess) {
  const chosen = options.find(({ index }) => index === guess);
  return chosen ? chosen.text : `${make("span", {}, String(guess)).innerHTML} ${unit}`;
}

function showCards() {
  for (const [name, show] of [["quiz", showQuiz], ["guess", showGuess]]) {
    for (const place of document.querySelectorAll(`.course-${name}-page`)) {
      show(place, JSON.parse(place.querySelector(':scope > script[type="application/json"]').textContent));
    }
  }
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", showCards);
else showCards();
