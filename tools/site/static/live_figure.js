// An explorable in the reading edition: every state is a difference of the first picture, so all of it is live.
(() => {
  function make(tag, parent, attributes = {}, text = "") {
    const node = Object.assign(document.createElement(tag), { textContent: text });
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    parent.append(node);
    return node;
  }

  function bringToLife(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const [stage, place, caption] = [".course-stage", ".course-live-controls", "figcaption"].map((part) => figure.querySelector(part));
    const at = [...data.start], widgets = [];
    stage.replaceChildren();
    const live = livePicture(stage, (content) => {
      if (content.set)
        data.controls.forEach(({ name, values }, i) => {
          const row = values.findIndex((value) => name in content.set && value === content.set[name]);
          if (row >= 0) at[i] = row;
        });
      show();
      live.answered();
    });

    function tokensOf(row) {
      if (row < 0) return [...data.tokens];
      const [base, changes] = data.states[row], tokens = tokensOf(base);
      for (const [from, count, added] of changes) {
        const whole = added.map((token, i) => {
          if (typeof token === "string") return token;
          const [start, end, text] = token, old = tokens[from + i];
          return old.slice(0, start) + text + old.slice(old.length - end);
        });
        tokens.splice(from, count, ...whole);
      }
      return tokens;
    }
    function show() {
      const row = data.controls.reduce((sum, { values }, i) => sum * values.length + at[i], 0);
      live.show(tokensOf(row).join(""));
      caption.textContent = data.states[row][2];
      widgets.forEach((update) => update());
    }
    data.controls.forEach(({ name, label, texts }, i) => {
      const row = make("div", place, { class: "course-live-control" });
      if (texts.length <= 4) {
        const group = make("div", row, { role: "radiogroup", "aria-label": label });
        make("span", group, { "aria-hidden": "true" }, label);
        const buttons = texts.map((text, value) => {
          const button = make("button", group, { type: "button", role: "radio" }, text);
          button.addEventListener("click", () => ((at[i] = value), show()));
          return button;
        });
        widgets.push(() => buttons.forEach((button, value) => button.setAttribute("aria-checked", value === at[i])));
      } else {
        const named = make("label", row);
        make("span", named, {}, label);
        const slider = make("input", named, { type: "range", min: 0, max: texts.length - 1, autocomplete: "off" });
        const value = make("span", row, { class: "course-sweep-value", "aria-hidden": "true" });
        slider.addEventListener("input", () => ((at[i] = Number(slider.value)), show()));
        widgets.push(() => {
          slider.value = at[i];
          slider.setAttribute("aria-valuetext", texts[at[i]]);
          value.textContent = texts[at[i]];
        });
      }
      if (name === data.play) {
        const last = texts.length - 1;
        const play = playButton(row, label, (to) => {
          at[i] = to === "first" && at[i] === last ? 0 : Math.min(at[i] + 1, last);
          show();
          if (at[i] === last) play.stop();
        });
      }
    });
    show();
  }

  function bringAllToLife() {
    document.querySelectorAll(".course-live-figure").forEach(bringToLife);
    for (const frame of document.querySelectorAll(".course-stage")) // on a narrow page it scrolls, also by keyboard
      new ResizeObserver(() => (frame.tabIndex = frame.scrollWidth > frame.clientWidth ? 0 : -1)).observe(frame);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", bringAllToLife);
  else bringAllToLife();
})();
