// A prediction or an estimate: made once, then shown next to the answer. Needs card.js before it.

export default card("guess", (model, root) => {
  const setup = model.get("payload");
  const inputs = inputsOf(setup.question);
  const button = make("button", { type: "submit", className: "cq-button" }, `Submit my ${setup.kind}`);
  const asked = asking(model, [make("span", { html: setup.question.text })], inputs.node, button,
    () => asked.send({ guess: inputs.read() }));
  const skip = () => asked.send({ open: true });
  asked.actions.append(make("button", { type: "button", className: "cq-link", onclick: skip }, `Show the answer without my ${setup.kind}`));
  const cover = make("div", { className: "cq-cover", hidden: !setup.cover.length },
    ...setup.cover.map((text, row) => make("span", { className: row ? "" : "cq-cover-title" }, text)));
  root.append(header(setup.title), asked.form, cover);

  const column = (head, html) => make("div", { className: "cq-column" },
    make("span", { className: "cq-column-head" }, head), make("span", { className: "cq-value", html }));

  return () => {
    const state = model.get("state");
    asked.received(state.note);
    if (!state.opened) return;
    cover.hidden = true;
    keepFocus(asked.form, asked.feedback, () => {
      asked.actions.hidden = true;
      inputs.lock(true);
      inputs.node.hidden = true;
    });
    const columns = [...(state.guess === null ? [] : [column(`Your ${setup.kind}`, state.guess)]), column(setup.truth, state.truth)];
    asked.feedback.replaceChildren(panel(state.look, state.word, make("div", { className: "cq-columns" }, ...columns),
      make("p", { html: state.because })));
  };
});
