// What the widgets of all explorables have: a helper that makes elements, and the list of goals.
function make(tag, parent, attributes = {}) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent.append(node);
  return node;
}

function listGoals(model, place) {
  place.replaceChildren();
  if (!model.get("goals").length) return;
  make("span", place).textContent = "Goals (reach them by hand: presets don't count)";
  const items = make("ul", place);
  for (const { text, reached } of model.get("goals")) {
    const item = make("li", items, reached ? { class: "course-reached" } : {});
    make("span", item, { "aria-hidden": "true" }).textContent = reached ? "✓" : "○";
    item.append(text);
    if (reached) make("span", item, { class: "course-announcement" }).textContent = " (reached)";
  }
}

