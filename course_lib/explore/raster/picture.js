// A picture that follows its traits: the background once, then for every update only the tiles that changed.
// An update is drawn when all of it has arrived, so nothing flickers.
const toNumbers = (bytes) => new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8ClampedArray(await new Response(stream).arrayBuffer());
}

export default {
  render({ model, el }) {
    const [width, height, tile] = ["width", "height", "tile"].map((name) => model.get(name));
    const columns = width / tile;
    const size = tile * tile * 4;
    const goals = make("div", el, { class: "course-goals" });
    const figure = make("figure", el, { class: "course-picture" });
    const canvas = make("canvas", figure, { role: "img" });
    const caption = make("figcaption", figure, { "aria-live": "polite" }); // read by screen readers when it changes
    const announcement = make("p", el, { class: "course-announcement", role: "status" }); // for screen readers only
    canvas.style.width = `${width / 2}px`; // drawn at twice the size: sharp on a high-resolution screen
    canvas.style.aspectRatio = `${width} / ${height}`;

    const whole = Object.assign(document.createElement("canvas"), { width, height });
    const wholeContext = whole.getContext("2d");
    const context = canvas.getContext("2d");
    const background = createImageBitmap(new Blob([model.get("background")], { type: "image/png" }));
    let latest = 0;

    function fit() {
      // As many pixels as the screen has for it: when a browser shrinks a canvas, small text becomes hard to read.
      const available = (canvas.clientWidth || width / 2) * window.devicePixelRatio;
      const scale = Math.min(1, available / width);
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      context.imageSmoothingQuality = scale < 0.5 ? "high" : "low"; // high takes 17 ms; from a half on, low is as good
      context.drawImage(whole, 0, 0, canvas.width, canvas.height);
    }

    const showGoals = () => listGoals(model, goals);

    async function show() {
      const update = ++latest;
      const alt = model.get("alt");
      const numbers = toNumbers(model.get("tile_numbers"));
      const [image, tiles] = await Promise.all([background, inflate(model.get("tiles"))]);
      if (update < latest) return; // a later update is on its way
      wholeContext.drawImage(image, 0, 0);
      numbers.forEach((number, i) => {
        const pixels = new ImageData(tiles.subarray(i * size, (i + 1) * size), tile);
        wholeContext.putImageData(pixels, (number % columns) * tile, Math.floor(number / columns) * tile);
      });
      fit();
      canvas.setAttribute("aria-label", alt);
      caption.textContent = alt;
      announcement.textContent = model.get("announcement");
      canvas.dataset.updates = update; // for tests: the number of the picture on the screen
    }

    const observer = new ResizeObserver(fit);
    observer.observe(canvas);
    model.on("change", show);
    model.on("change:goals", showGoals);
    showGoals();
    show();
    return () => {
      latest += 1;
      observer.disconnect();
      model.off("change", show);
      model.off("change:goals", showGoals);
    };
  },
};
