// A picture that follows its traits: the scenery once, then for every move only the tiles that changed.
// A move is painted in one go, when all of it is decoded, so nothing flickers.
const decode = (bytes) => createImageBitmap(new Blob([bytes], { type: "image/png" }));
const numbers = (bytes) => new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));

export default {
  render({ model, el }) {
    const [width, height, tile] = ["width", "height", "tile"].map((name) => model.get(name));
    const columns = width / tile;
    const figure = document.createElement("figure");
    const canvas = document.createElement("canvas");
    const caption = document.createElement("figcaption");
    figure.className = "course-picture";
    canvas.setAttribute("role", "img");
    canvas.style.width = `${width / 2}px`; // drawn at twice the size: crisp on a dense screen
    canvas.style.aspectRatio = `${width} / ${height}`;
    caption.setAttribute("aria-live", "polite"); // a screen reader says what changed
    figure.append(canvas, caption);
    el.append(figure);

    const whole = Object.assign(document.createElement("canvas"), { width, height });
    const brush = whole.getContext("2d");
    const pen = canvas.getContext("2d");
    const scenery = decode(model.get("scenery"));
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

    async function show() {
      const turn = ++newest;
      const alt = model.get("alt");
      const places = numbers(model.get("places"));
      const [backdrop, tiles] = await Promise.all([scenery, decode(model.get("tiles"))]);
      if (turn < newest) return; // a later move is on its way
      brush.drawImage(backdrop, 0, 0);
      places.forEach((place, i) => {
        const [x, y] = [(place % columns) * tile, Math.floor(place / columns) * tile];
        const [fromX, fromY] = [(i % columns) * tile, Math.floor(i / columns) * tile];
        brush.drawImage(tiles, fromX, fromY, tile, tile, x, y, tile, tile);
      });
      fit();
      canvas.setAttribute("aria-label", alt);
      caption.textContent = alt;
      canvas.dataset.moves = turn; // for tests: the picture on the screen is this one
    }

    const watch = new ResizeObserver(fit);
    watch.observe(canvas);
    model.on("change", show);
    show();
    return () => {
      newest += 1;
      watch.disconnect();
      model.off("change", show);
    };
  },
};
