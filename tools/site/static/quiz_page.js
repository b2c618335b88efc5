// Quizzes in the reading edition. Python puts the widget of the notebooks before these lines, and marks: this file
// looks up the reply to an answer in the table that comes with the quiz.

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

// A model as anywidget gives it. As in the kernel, the first try counts, and each reply has a number.
function modelFor({ payload, replies, remarks }) {
  const listeners = [];
  let state = {};
  let asked = 0;

  function answer(question, given) {
    const before = state[question] ?? { tries: 0 };
    const reply = replyTo(replies[question], given);
    const after = reply.note ? { ...before, note: reply.note } : {
      ...reply,
      remarks: reply.remarks.map((index) => remarks[index]),
      others: reply.others.map((index) => remarks[index]),
      tries: before.tries + 1,
      first: before.tries ? before.first : reply.correct,
      answer: given,
      note: "",
    };
    state = { ...state, [question]: { ...after, asked: ++asked } };
    listeners.forEach((listen) => listen());
  }

  return {
    get: (name) => (name === "payload" ? payload : state),
    on: (name, listen) => listeners.push(listen),
    off() {},
    send: (message) => queueMicrotask(() => answer(message.question, message.answer)), // after the card waits for it
  };
}

function showQuizzes() {
  for (const place of document.querySelectorAll(".course-quiz-page")) {
    const data = JSON.parse(place.querySelector('script[type="application/json"]').textContent);
    widget.render({ model: modelFor(data), el: place });
  }
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", showQuizzes);
else showQuizzes();
