// The slider of an explorable in the reading edition: each position has a picture of its own.
(() => {
  function bringToLife(figure) {
    const pictures = JSON.parse(figure.querySelector("script").textContent);
    const parts = [".course-sweep-control", "input", ".course-sweep-value", "img", "figcaption"];
    const [control, slider, value, image, caption] = parts.map((part) => figure.querySelector(part));
    let loading;
    const loadAll = () => (loading ??= pictures.map(({ src }) => Object.assign(new Image(), { src })));

    async function show() {
      const row = Number(slider.value);
      const { src, alt, text } = pictures[row];
      value.textContent = text; // a screen reader says it as the slider's value
      slider.setAttribute("aria-valuetext", text);
      await loadAll()[row].decode().catch(() => {}); // shown when it is ready, so that nothing flickers
      if (row !== Number(slider.value)) return; // moved on meanwhile
      image.src = src;
      image.alt = alt;
      caption.textContent = alt;
    }

    for (const event of ["pointerenter", "focusin"]) figure.addEventListener(event, loadAll, { once: true });
    slider.addEventListener("input", show);
    control.hidden = false;
    const frame = image.parentElement; // on a narrow page it scrolls, and the keyboard must reach it
    new ResizeObserver(() => (frame.tabIndex = frame.scrollWidth > frame.clientWidth ? 0 : -1)).observe(frame);
  }

  const bringAllToLife = () => document.querySelectorAll(".course-sweep").forEach(bringToLife);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", bringAllToLife);
  else bringAllToLife();
})();
