// The page of the course's notebooks in JupyterLab and Notebook 7: its style sheet, and an opening without jumps.
// Written by hand as what a bundler would make of an extension, so that there is nothing to build.
(() => {
  const NARROW = 1200; // pixels: here a file browser would take a quarter of the page
  const STILL = 150, PATIENCE = 3000; // milliseconds without a move: of a page that looks complete, of any page
  const folder = document.currentScript.src.replace(/[^/]*$/, "");

  // JupyterLab starts when this is done, so that no page is ever laid out without the style sheet.
  const init = () =>
    new Promise((done) => {
      const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `${folder}page.css` });
      link.onload = link.onerror = done;
      document.head.append(link);
    });

  // JupyterLab puts the cells on the page one by one, and fills in their text later: each moves those below it.
  const isBlank = (cell) => cell.matches(".jp-MarkdownCell") && !cell.querySelector(".jp-MarkdownOutput > *");
  const whenStill = (notebook, then) => {
    let before = "", moved = performance.now();
    const look = (now) => {
      const top = (cell) => cell.getBoundingClientRect().top;
      const seen = [...notebook.querySelectorAll(".jp-Cell")].filter((cell) => top(cell) < innerHeight);
      const places = seen.map(top).join();
      if (places !== before) [before, moved] = [places, now];
      if (now - moved > (seen.length && !seen.some(isBlank) ? STILL : PATIENCE)) then();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  };

  const extension = {
    createNew: (panel, context) =>
      void context.ready.then(() => {
        if (panel.isDisposed || !context.model.getMetadata("course")) return;
        const { classList } = panel.node;
        classList.add("course-page", "course-opening");
        whenStill(panel.node, () => classList.remove("course-opening"));
      }),
  };

  const plugin = {
    id: "attention-course:page",
    autoStart: true,
    activate: (app) => {
      app.docRegistry.addWidgetExtension("Notebook", extension);
      app.restored.then(() => innerWidth < NARROW && app.shell.collapseLeft()); // it opens with a click
    },
  };

  (window._JUPYTERLAB ??= {})["attention-course"] = { init, get: async () => () => plugin };
})();
