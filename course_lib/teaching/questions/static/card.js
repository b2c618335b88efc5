// What the cards share: inputs, panels, keys. Python puts the files together into one module, and marks.
// All `html` from Python is already escaped (questions/markup.py); what a learner types is set as text.

const BUSY = "The kernel is busy. Your answer will be marked when the running cell has finished.";
const ICONS = {
  right: '<path d="M4.4 8.3l2.5 2.5 4.8-5.3"/>',
  wrong: '<path d="M5.3 5.3l5.4 5.4M10.7 5.3l-5.4 5.4"/>',
  wait: '<path d="M8 4.2V8l2.6 1.8"/>',
  seen: '<path d="M3.4 8q4.6-6 9.2 0q-4.6 6-9.2 0zM8 8v.01"/>',
};
const icon = (look) => `<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="8"/>${ICONS[look]}</svg>`;

// -- parts of a card -------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "html") node.innerHTML = value;
    else if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const stamp = (look, word) =>
  make("span", { className: `cq-stamp cq-${look}` }, make("span", { className: "cq-icon", html: icon(look) }), word);

// The inputs of one question: native radio buttons, checkboxes or a text field for a number.
function inputsOf(question) {
  if (!question.options.length) {
    const field = make("input", { type: "text", inputMode: "decimal", autocomplete: "off", maxLength: 40, className: "cq-number-field" });
    field.setAttribute("aria-label", "Your answer, a number");
    return {
      node: make("label", { className: "cq-number-row" }, field, make("span", { html: question.unit })),
      read: () => field.value,
      write(answer) { if (!field.value) field.value = String(answer); },  // "1/3" stays as it was typed
      clear: () => field.select(),
      lock: (locked) => (field.disabled = locked),
      focus: () => field.focus(),
      stamp() {},
    };
  }
  const single = question.kind === "single";
  const rows = question.options.map((option) => {
    const input = make("input", { type: single ? "radio" : "checkbox", name: question.id });
    const tag = make("span", { className: "cq-tag" });
    const node = make("label", { className: "cq-option" }, input, make("span", { className: "cq-letter" }, option.letter),
      make("span", { className: "cq-text", html: option.text }), tag);
    return { option, input, node, tag };
  });
  const ticked = () => rows.filter((row) => row.input.checked).map((row) => row.option.index);
  return {
    node: make("div", { className: "cq-options" }, ...rows.map((row) => row.node)),
    read: () => (single ? ticked()[0] ?? null : ticked()),
    write: (answer) => rows.forEach((row) => (row.input.checked = [answer].flat().includes(row.option.index))),
    clear() { if (single) this.write([]); },  // several: keep the ticks, one change may be enough
    lock: (locked) => rows.forEach((row) => (row.input.disabled = locked)),
    focus: () => rows[0].input.focus(),
    // Say right or wrong on the rows that were chosen; without remarks, say nothing.
    stamp: (remarks) => rows.forEach(({ option, node, tag }) => {
      const chosen = remarks.find((remark) => remark.label === option.letter);
      node.classList.toggle("cq-is-right", Boolean(chosen?.good));
      node.classList.toggle("cq-is-wrong", Boolean(chosen && !chosen.good));
      tag.replaceChildren(...(chosen ? [stamp(chosen.good ? "right" : "wrong", chosen.good ? "Right" : "Not this one")] : []));
    }),
  };
}

// One question as a form: its legend, what is filled in, a button, room for a note and for feedback. What is sent
// goes to the kernel; when no reply comes, the note says so: it may be busy with another cell.
function asking(model, legend, field, button, submit) {
  const note = make("span", { className: "cq-note", role: "status" });
  const actions = make("div", { className: "cq-actions" }, button, note);
  const feedback = make("div", { className: "cq-feedback", role: "status", tabIndex: -1 });
  const form = make("form", { className: "cq-question" },
    make("fieldset", {}, make("legend", {}, ...legend), field), actions, feedback);
  let waiting;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  form.addEventListener("input", () => (note.textContent = ""));
  return {
    form, actions, feedback,
    send(message) {
      note.textContent = "";
      model.send(message);
      clearTimeout(waiting);
      waiting = setTimeout(() => (note.textContent = BUSY), 1500);
    },
    received(text = "") {
      clearTimeout(waiting);
      note.textContent = text;
    },
  };
}

function panel(look, word, ...children) {
  return make("div", { className: `cq-panel cq-panel-${look}` }, stamp(look, word), ...children);
}

const remark = ({ label, html }) =>
  make("p", { className: "cq-remark" }, ...(label ? [make("span", { className: "cq-letter" }, label)] : []),
    make("span", { html }));

// A link to the section with this heading, where the page has it; else just its name.
function reread(title) {
  const words = (node) => node.textContent.replace(/[¶#]$/, "").trim();
  const heading = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].find((node) => words(node) === title);
  const go = (event) => { event.preventDefault(); heading.scrollIntoView({ block: "start" }); };
  const link = heading ? make("a", { href: "#", onclick: go }, title) : `“${title}”`;
  return make("p", { className: "cq-reread" }, "Read again: ", link);
}

// JupyterLab takes plain keys for commands while a radio button has the focus: "x" would cut the cell. It looks
// for this mark on the focused element itself. Keys held with Ctrl or Cmd go through, so that saving still works.
function keepKeys(root) {
  // Nor does Enter in a text field submit the form there: something on the way cancels it.
  root.addEventListener("keydown", (event) => {
    const held = event.ctrlKey || event.metaKey || event.shiftKey;
    if (event.key !== "Enter" || event.target.tagName !== "INPUT" || held) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  });
  for (const type of ["focusin", "keydown", "keyup"])
    root.addEventListener(type, (event) =>
      event.target.toggleAttribute("data-lm-suppress-shortcuts", !(event.ctrlKey || event.metaKey)));
}

// A field that is locked or hidden would drop the focus to the top of the page; it goes to the feedback instead.
function keepFocus(form, feedback, change) {
  const at = document.activeElement;
  change();
  if (form.contains(at) && (at.disabled || at.closest("[hidden]"))) feedback.focus({ preventScroll: true });
}

const header = (title, ...more) =>
  make("header", { className: "cq-head" }, make("span", { className: "cq-title" }, title), ...more);

// A card as anywidget wants it: `build` fills it, and returns the function that shows the kernel's replies.
function card(name, build) {
  return {
    render({ model, el }) {
      const root = make("section", { className: `course-card course-${name}` });
      keepKeys(root);
      el.replaceChildren(root);
      const update = build(model, root);
      model.on("change:state", update);
      update();
      return () => model.off("change:state", update);
    },
  };
}
