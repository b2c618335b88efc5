// In your own words: write, compare with a model answer, tick the points that are covered. Needs card.js before it.

export default card("guess", (model, root) => {
  const setup = model.get("payload");
  const field = make("textarea", { rows: 4, maxLength: setup.longest, className: "cq-words" });
  field.setAttribute("aria-label", "Your explanation");
  const button = make("button", { type: "submit", className: "cq-button" }, "Compare with a model answer");
  const asked = asking(model, [make("span", { html: setup.text })], field, button, () => asked.send({ text: field.value }));
  const result = asked.feedback;
  root.append(header("In your own words"), asked.form);

  return () => {
    const state = model.get("state");
    asked.received();
    if (!state.model) return;
    if (!field.value) field.value = state.text;
    button.textContent = "Compare again";
    button.classList.add("cq-quiet");
    if (result.childElementCount && result.dataset.text === state.text) return;  // a tick: the boxes show it already
    result.dataset.text = state.text;
    const boxes = state.points.map((html, index) => {
      const box = make("input", { type: "checkbox", checked: state.ticked.includes(index) });
      box.addEventListener("change", tick);
      return { box, node: make("label", { className: "cq-option" }, box, make("span", { className: "cq-text", html })) };
    });
    function tick(event) {
      event.stopPropagation();
      asked.send({ ticked: boxes.flatMap(({ box }, index) => (box.checked ? [index] : [])) });
    }
    result.replaceChildren(panel("seen", "A model answer", make("p", { html: state.model }),
      make("p", {}, "Tick the points that your answer covers:"), make("div", { className: "cq-options" }, ...boxes.map(({ node }) => node))));
  };
});
