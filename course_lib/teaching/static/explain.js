// In your own words: write, compare with a model answer, tick off what yours says. Needs card.js before it.

function render({ model, el }) {
  const root = openCard(el, "guess");
  const setup = model.get("payload");
  const field = make("textarea", { rows: 4, maxLength: setup.longest, className: "cq-words" });
  field.setAttribute("aria-label", "Your explanation");
  const note = make("span", { className: "cq-note", role: "status" });
  const button = make("button", { type: "submit", className: "cq-button" }, "Compare with a model answer");
  const result = make("div", { className: "cq-feedback", role: "status", tabIndex: -1 });
  const form = make("form", { className: "cq-question" },
    make("fieldset", {}, make("legend", {}, make("span", { html: setup.text })), field),
    make("div", { className: "cq-actions" }, button, note), result);
  root.append(make("header", { className: "cq-head" }, make("span", { className: "cq-title" }, "In your own words")), form);
  const kernel = sender(model, note);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    kernel.send({ text: field.value });
  });

  function update() {
    const state = model.get("state");
    kernel.heard();
    note.textContent = "";
    if (!state.model) return;
    if (!field.value) field.value = state.text;
    button.textContent = "Compare again";
    button.classList.add("cq-quiet");
    if (result.childElementCount && result.dataset.text === state.text) return;  // a tick: the boxes show it already
    result.dataset.text = state.text;
    const boxes = state.points.map((html, place) => {
      const box = make("input", { type: "checkbox", checked: state.ticked.includes(place) });
      box.addEventListener("change", tick);
      return { box, node: make("label", { className: "cq-option" }, box, make("span", { className: "cq-text", html })) };
    });
    function tick(event) {
      event.stopPropagation();
      kernel.send({ ticked: boxes.flatMap(({ box }, place) => (box.checked ? [place] : [])) });
    }
    result.replaceChildren(panel("seen", "A model answer", make("p", { html: state.model }),
      make("p", {}, "Tick what yours says too:"), make("div", { className: "cq-options" }, ...boxes.map(({ node }) => node))));
  }
  model.on("change:state", update);
  update();
  return () => model.off("change:state", update);
}

export default { render };
