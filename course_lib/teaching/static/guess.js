// A guess: committed once, then shown beside the truth. Needs card.js before it.

function render({ model, el }) {
  const root = openCard(el, "guess");
  const setup = model.get("payload");
  const inputs = inputsOf(setup.question);
  const note = make("span", { className: "cq-note", role: "status" });
  const result = make("div", { className: "cq-feedback", role: "status", tabIndex: -1 });
  const skip = make("button", { type: "button", className: "cq-link" }, "Show me without guessing");
  const actions = make("div", { className: "cq-actions" },
    make("button", { type: "submit", className: "cq-button" }, "Commit my guess"), note, skip);
  const form = make("form", { className: "cq-question" },
    make("fieldset", {}, make("legend", {}, make("span", { html: setup.question.text })), inputs.node), actions, result);
  const cover = make("div", { className: "cq-cover", hidden: !setup.cover.length },
    ...setup.cover.map((text, row) => make("span", { className: row ? "" : "cq-cover-title" }, text)));
  root.append(make("header", { className: "cq-head" }, make("span", { className: "cq-title" }, setup.title)), form, cover);

  const kernel = sender(model, note);
  const column = (head, html) => make("div", { className: "cq-column" },
    make("span", { className: "cq-column-head" }, head), make("span", { className: "cq-value", html }));

  skip.addEventListener("click", () => kernel.send({ open: true }));
  form.addEventListener("input", () => (note.textContent = ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    kernel.send({ guess: inputs.read() });
  });

  function update() {
    const state = model.get("state");
    kernel.heard();
    note.textContent = state.note ?? "";
    if (!state.opened) return;
    cover.hidden = true;
    keepFocus(form, result, () => {
      actions.hidden = true;
      inputs.lock(true);
      inputs.node.hidden = true;
    });
    const columns = [...(state.guess === null ? [] : [column("Your guess", state.guess)]), column(setup.truth, state.truth)];
    result.replaceChildren(panel(state.look, state.word, make("div", { className: "cq-columns" }, ...columns),
      make("p", { html: state.because })));
  }
  model.on("change:state", update);
  update();
  return () => model.off("change:state", update);
}

export default { render };
