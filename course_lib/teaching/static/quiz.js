// A quiz: marks, several tries with the first one counted, and votes in a classroom. Needs card.js before it.

function questionCard(question, number, setup, commit) {
  const inputs = inputsOf(question);
  const button = make("button", { type: "submit", className: "cq-button" });
  const note = make("span", { className: "cq-note", role: "status" });
  const feedback = make("div", { className: "cq-feedback", role: "status", tabIndex: -1 });
  const legend = make("legend", {}, ...(number ? [make("span", { className: "cq-count" }, `${number}`)] : []),
    make("span", { html: question.text }));
  const form = make("form", { className: "cq-question" }, make("fieldset", {}, legend, inputs.node),
    make("div", { className: "cq-actions" }, button, note), feedback);
  let tries = [];
  let trying = true;  // false while the last try's feedback stands
  let drawn = false;

  const discussing = () => setup.classroom && tries.length === 1;
  const voting = () => setup.classroom && !tries.length;
  const result = () => mark(question, tries.at(-1));
  const solved = () => tries.length > (setup.classroom ? 1 : 0) && result().correct;

  function show() {
    const told = !trying && !discussing();
    const right = told && result().correct;
    button.textContent = told ? "Try again" : discussing() ? "Vote again" : voting() ? "Vote" : "Check";
    button.classList.toggle("cq-quiet", told);
    keepFocus(form, feedback, () => {
      button.hidden = right;
      inputs.lock(right);
    });
    inputs.stamp(told ? tries.at(-1) : undefined);
    feedback.replaceChildren(...(told ? verdict(result()) : discussing() ? [discuss()] : []));
  }

  function discuss() {
    return panel("wait", "Your vote is in", make("p", {}, `You voted ${inputs.label(tries[0])}. ${setup.discuss}`));
  }

  function verdict(marked) {
    const parts = marked.remarks.map(remark);
    if (question.kind === "single") parts[0].querySelector(".cq-letter")?.remove();  // the row above says it
    if (setup.classroom)
      parts.unshift(make("p", { className: "cq-votes" },
        `First vote: ${inputs.label(tries[0])} · Second vote: ${inputs.label(tries[1])}`));
    if (marked.correct) {
      const said = marked.remarks.map((remark) => remark.label);
      const others = (question.options ?? []).filter((option) => !said.includes(option.letter));
      if (others.length)
        parts.push(make("details", {}, make("summary", {}, "Why not the others?"),
          ...others.map((option) => remark({ label: option.letter, html: option.feedback }))));
    } else if (question.reread) parts.push(reread(question.reread));
    return [panel(marked.correct ? "right" : "wrong", marked.correct ? "Right" : "Not quite", ...parts)];
  }

  function tryAgain() {
    trying = true;
    inputs.clear();
    show();
    inputs.focus();
  }

  form.addEventListener("input", () => {
    note.textContent = "";
    if (!trying && !discussing()) { trying = true; show(); }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!trying && !discussing()) return tryAgain();
    const answer = inputs.read();
    if (Number.isNaN(answer)) return (note.textContent = inputs.ask);
    note.textContent = "";
    commit(answer);
  });

  return {
    form,
    solved,
    answered: () => tries.length > (setup.classroom ? 1 : 0),
    first: () => mark(question, tries[0]).correct,
    reset() { trying = true; inputs.write([]); show(); },
    update(answers) {
      const fresh = answers[question.id] ?? [];
      if (drawn && fresh.length === tries.length) return;
      drawn = true;
      tries = fresh;
      trying = !tries.length;
      if (tries.length) inputs.write(tries.at(-1));
      show();
    },
  };
}

function render({ model, el }) {
  const root = openCard(el, "quiz");
  const setup = model.get("payload");
  const many = setup.questions.length > 1;
  const cards = setup.questions.map((question, index) => questionCard(question, many && index + 1, setup, (answer) => {
    const answers = model.get("answers");
    model.set("answers", { ...answers, [question.id]: [...(answers[question.id] ?? []), answer] });
    model.save_changes();
  }));
  const words = make("span", { role: "status" });
  const pips = make("span", { className: "cq-pips", "aria-hidden": "true" });
  const again = make("button", { type: "button", className: "cq-button cq-quiet", hidden: true,
    onclick: startAgain }, "Start again");
  root.append(
    make("header", { className: "cq-head" }, make("span", { className: "cq-title" }, setup.title),
      ...(setup.classroom ? [make("span", { className: "cq-chip" }, "Vote · discuss · vote again")] : [])),
    ...cards.map((card) => card.form),
    ...(many ? [make("footer", { className: "cq-score" }, pips, words, again)] : []));

  function startAgain() {  // for practice: the tries so far stay counted
    cards.forEach((card) => card.reset());
    again.hidden = true;
    root.querySelector("input").focus();
  }

  function pip(card) {
    if (!card.answered()) return "";
    return card.first() ? "cq-pip-right" : card.solved() ? "cq-pip-later" : "cq-pip-wrong";
  }

  function update() {
    const answers = model.get("answers");
    cards.forEach((card) => card.update(answers));
    const answered = cards.filter((card) => card.answered());
    const first = answered.filter((card) => card.first()).length;
    pips.replaceChildren(...cards.map((card) => make("span", { className: pip(card) })));
    const done = cards.every((card) => card.solved());
    words.textContent = !answered.length ? `${cards.length} questions to go`
      : `${answered.length} of ${cards.length} answered, ${first} right at the first ${setup.classroom ? "vote" : "try"}`
        + (done ? ". All solved." : "");
    if (done) again.hidden = false;
  }
  model.on("change:answers", update);
  update();
  return () => model.off("change:answers", update);
}

export default { render };
