// A guess: committed once, then shown beside the truth. Needs card.js before it.

function render({ model, el }) {
  const root = openCard(el, "guess");
  const setup = model.get("payload");
  const { question } = setup;
  const inputs = inputsOf(question);
  const note = make("span", { className: "cq-note", role: "status" });
  const result = make("div", { className: "cq-feedback", role: "status", tabIndex: -1 });
  const skip = make("button", { type: "button", className: "cq-link" }, "Show me without guessing");
  const actions = make("div", { className: "cq-actions" },
    make("button", { type: "submit", className: "cq-button" }, "Commit my guess"), note, skip);
  const form = make("form", { className: "cq-question" },
    make("fieldset", {}, make("legend", {}, make("span", { html: question.text })), inputs.node), actions, result);
  const cover = make("div", { className: "cq-cover" }, make("span", { className: "cq-cover-title" }, setup.cover),
    make("span", {}, "Covered until you have made a guess. Being wrong is fine: a guess is what makes the answer stick."));
  const head = make("header", { className: "cq-head" }, make("span", { className: "cq-title" }, "Predict first"));
  root.append(head, form, cover);

  const save = (name, value) => { model.set(name, value); model.save_changes(); };
  const column = (head, ...children) =>
    make("div", { className: "cq-column" }, make("span", { className: "cq-column-head" }, head), ...children);
  const value = (answer) => question.kind === "number"
    ? make("span", { className: "cq-value" }, `${shown(answer)} `, make("span", { html: question.unit }))
    : make("span", { className: "cq-value", html: question.options[answer].text });

  skip.addEventListener("click", () => save("opened", true));
  form.addEventListener("input", () => (note.textContent = ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const guess = inputs.read();
    if (Number.isNaN(guess)) return (note.textContent = inputs.ask);
    save("guess", guess);
  });

  function update() {
    const guess = model.get("guess");
    const guessed = guess !== null && guess !== undefined;
    const opened = guessed || model.get("opened");
    cover.hidden = opened;
    if (guessed) inputs.write(guess);
    keepFocus(form, result, () => {
      actions.hidden = opened;
      inputs.lock(opened);
      inputs.node.hidden = opened;
    });
    result.replaceChildren(...(opened ? [truth(guessed, guess)] : []));
  }

  function truth(guessed, guess) {
    const right = question.kind === "number" ? within(guess, setup.truth, question.tolerance) : guess === setup.truth;
    const [look, word] = !guessed ? ["seen", "Shown without a guess"]
      : right ? ["right", "As you predicted"] : ["wrong", "Not as you predicted"];
    const columns = [...(guessed ? [column("Your guess", value(guess))] : []), column("What happens", value(setup.truth))];
    return panel(look, word, make("div", { className: "cq-columns" }, ...columns), make("p", { html: setup.because }));
  }

  const watched = "change:guess change:opened";
  model.on(watched, update);
  update();
  return () => model.off(watched, update);
}

export default { render };
