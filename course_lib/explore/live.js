// A picture that one can take hold of, in JupyterLab and on the site: `livePicture(place, report)` returns
// `show(text)`, which compares a new SVG with the one on the page and changes only what differs.
//
// What parts of a picture say:
//   data-set='{"head": 3}'    clicking it, or Enter or Space, sets these controls
//   data-drag="query"         it can be dragged, or moved by arrow keys, within data-box, by data-step pixels
//   data-end="query"          a line from M to L whose end follows what is dragged; data-follows: moves along
//   data-of="row-1 column-2"  what it belongs to; pointing at it lights all that shares a name, or data-lights
//   data-tip="it → cat 0.46"  what stands at the pointer
//   data-key="cat"            the same thing in the next picture, wherever it is then
// Reports go one at a time: the next waits until `answered()`, and only the latest of the same kind is kept.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function parseSvg(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

function morph(from, to) {
  if (from.nodeType === Node.TEXT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  for (const { name } of [...from.attributes]) if (!to.hasAttribute(name)) from.removeAttribute(name);
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  const keyed = new Map([...from.children].filter((node) => node.dataset?.key).map((node) => [node.dataset.key, node]));
  [...to.childNodes].forEach((theirs, i) => {
    const key = theirs.dataset?.key;
    let mine = (key && keyed.get(key)) || from.childNodes[i];
    if (mine?.nodeName !== theirs.nodeName || (mine.dataset?.key ?? undefined) !== key) {
      from.insertBefore(theirs.cloneNode(true), from.childNodes[i] ?? null);
      return;
    }
    if (mine !== from.childNodes[i]) from.insertBefore(mine, from.childNodes[i]);
    morph(mine, theirs);
  });
  while (from.childNodes.length > to.childNodes.length) from.lastChild.remove();
}

function livePicture(place, report) {
  const tip = Object.assign(document.createElement("div"), { className: "course-tip", hidden: true });
  tip.setAttribute("aria-hidden", "true"); // the picture's text says it too
  let svg = null, latest = "", lit = [], waiting = false;
  let held = null, spot = null, pressed = false; // what is dragged, where to, and whether the pointer still has it
  const kept = new Map();

  function send(kind, content) {
    kept.set(kind, content);
    flush();
  }
  function flush() {
    if (waiting || !kept.size) return;
    const [[kind, content]] = kept;
    kept.delete(kind);
    waiting = true;
    report(content);
  }
  const within = (event, name) => (svg.contains(event.target) ? event.target.closest?.(`[data-${name}]`) : null);
  const on = (type, act) => place.addEventListener(type, (event) => svg && act(event));

  function moveHeld() { // what is dragged moves at once; the picture follows
    for (const node of svg.querySelectorAll(`[data-drag="${held}"]`)) {
      node.setAttribute("cx", spot.x);
      node.setAttribute("cy", spot.y);
    }
    for (const node of svg.querySelectorAll(`[data-end="${held}"]`))
      node.setAttribute("d", node.getAttribute("d").replace(/L[^L]*$/, `L${spot.x} ${spot.y}`));
    for (const node of svg.querySelectorAll(`[data-follows="${held}"]`)) {
      const [dx, dy] = (node.dataset.by ?? "0 0").split(" ").map(Number);
      node.setAttribute("x", spot.x + dx);
      node.setAttribute("y", spot.y + dy);
    }
  }
  function dragTo(handle, x, y) {
    const [left, top, right, bottom] = handle.dataset.box.split(" ").map(Number);
    spot = { x: Math.min(right, Math.max(left, x)), y: Math.min(bottom, Math.max(top, y)) };
    held = handle.dataset.drag;
    moveHeld();
    send(`drag ${held}`, { drag: held, to: [spot.x, spot.y] });
  }
  function settle() { // let go, and every report answered: from now on the picture says where it is
    if (pressed || waiting || kept.size || !held) return;
    held = null;
    morph(svg, parseSvg(latest));
    light();
  }
  const at = (handle) => ({ x: Number(handle.getAttribute("cx")), y: Number(handle.getAttribute("cy")) });
  function toPicture(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  }
  on("pointerdown", (event) => {
    const handle = within(event, "drag");
    if (!handle) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
    place.setPointerCapture(event.pointerId);
    place.classList.add("course-dragging");
    pressed = true;
    [held, spot] = [handle.dataset.drag, at(handle)];
  });
  on("pointermove", (event) => {
    if (!pressed) return point(event);
    const { x, y } = toPicture(event);
    dragTo(svg.querySelector(`[data-drag="${held}"]`), x, y);
  });
  for (const type of ["pointerup", "pointercancel"])
    on(type, () => {
      place.classList.remove("course-dragging");
      pressed = false;
      settle();
    });
  on("click", (event) => {
    const part = within(event, "set");
    if (part) send("set", { set: JSON.parse(part.dataset.set) });
  });
  on("keydown", (event) => {
    const part = within(event, "set"), handle = within(event, "drag"), arrow = ARROWS[event.key];
    if (part && (event.key === "Enter" || event.key === " ")) send("set", { set: JSON.parse(part.dataset.set) });
    else if (handle && arrow) {
      const { x, y } = held === handle.dataset.drag ? spot : at(handle); // its picture may be on its way
      dragTo(handle, x + arrow[0] * handle.dataset.step, y + arrow[1] * handle.dataset.step);
    } else return;
    event.preventDefault();
  });

  function point(event) { // light what belongs together, and show the value
    const part = within(event, "of") ?? within(event, "tip");
    if (!part) return leave();
    lit = (part.dataset.lights ?? part.dataset.of ?? "").split(" ").filter(Boolean);
    light();
    const shown = within(event, "tip")?.dataset.tip;
    tip.hidden = !shown;
    tip.textContent = shown ?? "";
    const box = place.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth)}px`;
    tip.style.top = `${event.clientY - box.top + 14}px`;
  }
  function light() {
    svg.classList.toggle("course-pointed", lit.length > 0);
    for (const node of svg.querySelectorAll("[data-of]"))
      node.classList.toggle("course-lit", node.dataset.of.split(" ").some((name) => lit.includes(name)));
  }
  function leave() {
    lit = [];
    if (svg) light();
    tip.hidden = true;
  }
  place.addEventListener("pointerleave", leave);

  return {
    send,
    show(text) {
      latest = text;
      if (svg) morph(svg, parseSvg(text));
      else place.append((svg = parseSvg(text)), tip);
      light();
      if (held) moveHeld();
    },
    answered() {
      waiting = false;
      flush();
      settle();
    },
  };
}

// Play: one step of a control at a time, at most every `pause` milliseconds; again from the start at its end.
function playButton(place, label, step, pause = 350) {
  const button = Object.assign(document.createElement("button"), { className: "course-play", type: "button" });
  let timer = null;
  const show = () => (button.textContent = timer ? "Pause" : `▶ Play: ${label}`);
  function stop() {
    clearInterval(timer);
    timer = null;
    show();
  }
  button.addEventListener("click", () => {
    if (timer) return stop();
    step("first");
    timer = setInterval(() => step("next"), pause);
    show();
  });
  show();
  place.append(button);
  return { stop };
}
