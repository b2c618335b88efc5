// A quiz: several tries with the first one counted, and votes in a classroom. Needs card.js before it.

function questionCard(model, question, number, setup) {
  const inputs = inputsOf(question);
  const button = make("button", { type: "submit", className: "cq-button" });
  const legend = [...(number ? [make("span", { className: "cq-count" }, `${number}`)] : []), make("span", { html: question.text })];
  const asked = asking(model, legend, inputs.node, button, submit);
  const { form, feedback } = asked;
  let state = { tries: 0, remarks: [], others: [], votes: [] };
  let trying = true;  // false while the last try's feedback is shown
  let lastReply = 0;

  const isMarked = () => !trying && typeof state.correct === "boolean";
  const discussing = () => state.tries === 1 && state.correct === null;

  function show() {
    const right = isMarked() && state.correct;
    button.textContent = isMarked() ? "Try again" : discussing() ? "Vote again" : setup.classroom && !state.tries ? "Vote" : "Check";
    button.classList.toggle("cq-quiet", isMarked());
    keepFocus(form, feedback, () => {
      button.hidden = right;
      inputs.lock(right);
    });
    inputs.stamp(isMarked() ? state.remarks : []);
    feedback.replaceChildren(...(isMarked() ? [verdict()] : discussing() ? [panel("wait", "Your vote is in", ...state.remarks.map(remark))] : []));
  }

  function verdict() {
    const parts = state.remarks.map(remark);
    if (question.kind === "single") parts[0].querySelector(".cq-letter")?.remove();  // the row above says it
    if (state.votes.length === 2)
      parts.unshift(make("p", { className: "cq-votes" }, `First vote: ${state.votes[0]} · Second vote: ${state.votes[1]}`));
    if (state.others.length)
      parts.push(make("details", {}, make("summary", {}, "Why not the others?"), ...state.others.map(remark)));
    if (!state.correct && question.reread) parts.push(reread(question.reread));
    return panel(state.correct ? "right" : "wrong", state.correct ? "Right" : "Not quite", ...parts);
  }

  function submit() {
    if (!isMarked()) return asked.send({ question: question.id, answer: inputs.read() });
    trying = true;
    inputs.clear();
    show();
    inputs.focus();
  }
  form.addEventListener("input", () => {
    if (isMarked()) { trying = true; show(); }
  });

  return {
    form,
    get state() { return state; },
    reset() { trying = true; inputs.write([]); show(); },
    update(states) {
      const fresh = states[question.id];
      if (fresh && fresh.asked !== lastReply) {
        asked.received(fresh.note);
        lastReply = fresh.asked;
        if (fresh.note) return;
        state = fresh;
        trying = false;
        inputs.write(state.answer);
      }
      show();
    },
  };
}

export default card("quiz", (model, root) => {
  const setup = model.get("payload");
  const many = setup.questions.length > 1;
  const cards = setup.questions.map((question, index) => questionCard(model, question, many && index + 1, setup));
  const words = make("span", { role: "status" });
  const pips = make("span", { className: "cq-pips", "aria-hidden": "true" });
  const again = make("button", { type: "button", className: "cq-button cq-quiet", hidden: true,
    onclick: startAgain }, "Start again");
  root.append(
    header(setup.title, ...(setup.classroom ? [make("span", { className: "cq-chip" }, "Vote · discuss · vote again")] : [])),
    ...cards.map((card) => card.form),
    ...(many ? [make("footer", { className: "cq-score" }, pips, words, again)] : []));

  function startAgain() {  // for practice: the tries so far stay counted
    cards.forEach((card) => card.reset());
    again.hidden = true;
    root.querySelector("input").focus();
  }

  const pip = ({ state }) => typeof state.correct !== "boolean" ? ""
    : state.first ? "cq-pip-right" : state.correct ? "cq-pip-later" : "cq-pip-wrong";

  return () => {
    const states = model.get("state");
    cards.forEach((card) => card.update(states));
    const answered = cards.filter((card) => typeof card.state.correct === "boolean");
    const first = answered.filter((card) => card.state.first).length;
    pips.replaceChildren(...cards.map((card) => make("span", { className: pip(card) })));
    const done = cards.every((card) => card.state.correct === true);
    words.textContent = !answered.length ? `${cards.length} questions to go`
      : `${answered.length} of ${cards.length} answered, ${first} right on the first ${setup.classroom ? "vote" : "try"}`
        + (done ? ". All correct now." : "");
    if (done) again.hidden = false;
  };
});
