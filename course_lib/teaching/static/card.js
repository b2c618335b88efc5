// What quiz.js and guess.js share: marking, inputs, panels, keys. Python puts the files together into one module.
// Every `html` in the payload was escaped in Python (teaching/maths.py); what a learner types is set as text.
// `mark` follows teaching/quiz_marking.py: a test runs both over the same answers.

const SLACK = 1e-9;
const ICONS = {
  right: '<path d="M4.4 8.3l2.5 2.5 4.8-5.3"/>',
  wrong: '<path d="M5.3 5.3l5.4 5.4M10.7 5.3l-5.4 5.4"/>',
  wait: '<path d="M8 4.2V8l2.6 1.8"/>',
  seen: '<path d="M3.4 8q4.6-6 9.2 0q-4.6 6-9.2 0zM8 8v.01"/>',
};
const icon = (look) => `<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="8"/>${ICONS[look]}</svg>`;

// -- marking ---------------------------------------------------------------------------------------------

export function mark(question, answer) {
  return question.kind === "number" ? markNumber(question, answer) : markChoice(question, answer);
}

function markNumber(question, number) {
  const said = (good, html) => [{ good, label: "", html }];
  if (within(number, question.answer, question.tolerance))
    return { correct: true, misconception: null, remarks: said(true, question.feedback) };
  const near = question.near.find((one) => within(number, one.value, one.tolerance));
  return near
    ? { correct: false, misconception: near.diagnoses ?? null, remarks: said(false, near.feedback) }
    : { correct: false, misconception: null, remarks: said(false, question.wrong_feedback) };
}

function markChoice(question, answer) {
  const chosen = question.options.filter((option) => [answer].flat().includes(option.place));
  const remarks = chosen.map((option) => ({ good: option.correct, label: option.letter, html: option.feedback }));
  const missing = question.options.filter((option) => option.correct && !chosen.includes(option)).length;
  const wrong = chosen.filter((option) => !option.correct);
  if (question.kind === "several" && missing) {
    const html = missing === 1 ? "One right answer is still missing." : `${missing} right answers are still missing.`;
    remarks.push({ good: false, label: "", html });
  }
  const misconception = wrong.map((option) => option.diagnoses).find(Boolean) ?? null;
  return { correct: !wrong.length && !missing, misconception, remarks };
}

export function within(number, target, tolerance) {
  return Math.abs(number - target) <= tolerance + SLACK * Math.max(1, Math.abs(target));
}

// "0.5", "0,5", "1e-4", "−2" and "1/8" are numbers; anything else is NaN.
export function parseNumber(text) {
  const tidy = text.trim().replace(/[−–]/g, "-").replace(",", ".");
  const parts = tidy.split("/").map((part) => part.trim());
  if (parts.length > 2 || !parts.every((part) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(part))) return NaN;
  const number = parts.length === 2 ? Number(parts[0]) / Number(parts[1]) : Number(parts[0]);
  return Number.isFinite(number) ? number : NaN;
}

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

const shown = (number) => String(Number(number.toPrecision(6)));  // 1/3 without its sixteen digits

const stamp = (look, word) =>
  make("span", { className: `cq-stamp cq-${look}` }, make("span", { className: "cq-icon", html: icon(look) }), word);

// The inputs of one question: native radio buttons, checkboxes or a text field for a number.
function inputsOf(question) {
  if (question.kind === "number") {
    const field = make("input", { type: "text", inputMode: "decimal", autocomplete: "off", className: "cq-number-field" });
    field.setAttribute("aria-label", "Your number");
    return {
      node: make("label", { className: "cq-number-row" }, field, make("span", { html: question.unit })),
      read: () => parseNumber(field.value),
      write(answer) {
        if (parseNumber(field.value) === answer) return;  // "1/3" stays as it was typed
        field.value = typeof answer === "number" ? shown(answer) : "";
      },
      clear: () => field.select(),
      ask: "Type a number, such as 0.5 or 1/8.",
      lock: (locked) => (field.disabled = locked),
      focus: () => field.focus(),
      label: shown,
      stamp() {},
    };
  }
  const rows = question.options.map((option) => {
    const input = make("input", { type: question.kind === "several" ? "checkbox" : "radio", name: question.id });
    const tag = make("span", { className: "cq-tag" });
    const node = make("label", { className: "cq-option" }, input, make("span", { className: "cq-letter" }, option.letter),
      make("span", { className: "cq-text", html: option.text }), tag);
    return { option, input, node, tag };
  });
  const ticked = () => rows.filter((row) => row.input.checked).map((row) => row.option.place).sort((a, b) => a - b);
  const single = question.kind === "single";
  return {
    node: make("div", { className: "cq-options" }, ...rows.map((row) => row.node)),
    read: () => (single ? ticked()[0] ?? NaN : ticked().length ? ticked() : NaN),
    write: (answer) => rows.forEach((row) => (row.input.checked = [answer].flat().includes(row.option.place))),
    clear() { if (single) this.write([]); },  // several: keep the ticks, one change may be enough
    ask: single ? "Choose an answer first." : "Tick at least one answer first.",
    lock: (locked) => rows.forEach((row) => (row.input.disabled = locked)),
    focus: () => rows[0].input.focus(),
    label: (answer) => rows.map((row) => row.option).filter((option) => [answer].flat().includes(option.place))
      .map((option) => option.letter).join(", "),
    // Say right or wrong on the rows that were chosen; without an answer, say nothing.
    stamp: (answer) => rows.forEach(({ option, node, tag }) => {
      const chosen = answer !== undefined && [answer].flat().includes(option.place);
      const look = option.correct ? "right" : "wrong";
      node.classList.toggle("cq-is-right", chosen && option.correct);
      node.classList.toggle("cq-is-wrong", chosen && !option.correct);
      tag.replaceChildren(...(chosen ? [stamp(look, option.correct ? "Right" : "Not this one")] : []));
    }),
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
  const words = (node) => node.textContent.replace(/¶$/, "").trim();
  const heading = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].find((node) => words(node) === title);
  const go = (event) => { event.preventDefault(); heading.scrollIntoView({ block: "start" }); };
  const place = heading ? make("a", { href: "#", onclick: go }, title) : `“${title}”`;
  return make("p", { className: "cq-reread" }, "Read again: ", place);
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

function openCard(el, name) {
  const root = make("section", { className: `course-card course-${name}` });
  keepKeys(root);
  el.replaceChildren(root);
  return root;
}
