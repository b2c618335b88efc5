// A picture that follows its traits: the scenery once, then for every move only the tiles that changed.
// A move is painted in one go, when all of it is there, so nothing flickers.
const numbers = (bytes) => new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8ClampedArray(await new Response(stream).arrayBuffer());
}

function make(tag, parent, attributes = {}) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent.append(node);
  return node;
}

export default {
  render({ model, el }) {
    const [width, height, tile] = ["width", "height", "tile"].map((name) => model.get(name));
    const columns = width / tile;
    const size = tile * tile * 4;
    const goals = make("div", el, { class: "course-goals" });
    const figure = make("figure", el, { class: "course-picture" });
    const canvas = make("canvas", figure, { role: "img" });
    const caption = make("figcaption", figure, { "aria-live": "polite" }); // a screen reader says what changed
    const news = make("p", el, { class: "course-news", role: "status" }); // heard, not seen
    canvas.style.width = `${width / 2}px`; // drawn at twice the size: crisp on a dense screen
    canvas.style.aspectRatio = `${width} / ${height}`;

    const whole = Object.assign(document.createElement("canvas"), { width, height });
    const brush = whole.getContext("2d");
    const pen = canvas.getContext("2d");
    const scenery = createImageBitmap(new Blob([model.get("scenery")], { type: "image/png" }));
    let newest = 0;

    function fit() {
      // As many pixels as the screen has for it: a browser shrinks a canvas coarsely, and small text suffers.
      const room = (canvas.clientWidth || width / 2) * window.devicePixelRatio;
      const scale = Math.min(1, room / width);
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      pen.imageSmoothingQuality = scale < 0.5 ? "high" : "low"; // high costs 17 ms; from a half on, low is as good
      pen.drawImage(whole, 0, 0, canvas.width, canvas.height);
    }

    function list() {
      const all = model.get("goals");
      goals.replaceChildren();
      if (!all.length) return;
      make("span", goals).textContent = "Try (by hand: presets do not count)";
      const items = make("ul", goals);
      for (const { text, reached } of all) {
        const item = make("li", items, reached ? { class: "course-reached" } : {});
        make("span", item, { "aria-hidden": "true" }).textContent = reached ? "✓" : "○";
        item.append(text);
        if (reached) make("span", item, { class: "course-news" }).textContent = " (reached)";
      }
    }

    async function show() {
      const turn = ++newest;
      const alt = model.get("alt");
      const places = numbers(model.get("places"));
      const [backdrop, tiles] = await Promise.all([scenery, inflate(model.get("tiles"))]);
      if (turn < newest) return; // a later move is on its way
      brush.drawImage(backdrop, 0, 0);
      places.forEach((place, i) => {
        const pixels = new ImageData(tiles.subarray(i * size, (i + 1) * size), tile);
        brush.putImageData(pixels, (place % columns) * tile, Math.floor(place / columns) * tile);
      });
      fit();
      canvas.setAttribute("aria-label", alt);
      caption.textContent = alt;
      news.textContent = model.get("news");
      canvas.dataset.moves = turn; // for tests: the picture on the screen is this one
    }

    const watch = new ResizeObserver(fit);
    watch.observe(canvas);
    model.on("change", show);
    model.on("change:goals", list);
    list();
    show();
    return () => {
      newest += 1;
      watch.disconnect();
      model.off("change", show);
      model.off("change:goals", list);
    };
  },
};
