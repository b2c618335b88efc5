// The page of the course's notebooks in JupyterLab and Notebook 7: its style sheet, and an opening without jumps.
// Written by hand as what a bundler would make of an extension, so that there is nothing to build.
(() => {
  const NARROW = 1200, STILL = 150, LONGEST = 5000; // px; ms without a move on the first screen; ms at most
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
    const start = performance.now();
    let before = "", moved = start;
    const look = (now) => {
      const seen = [...notebook.querySelectorAll(".jp-Cell")].filter((cell) => cell.getBoundingClientRect().top < innerHeight);
      const places = seen.map((cell) => cell.getBoundingClientRect().top).join();
      if (places !== before || seen.some(isBlank)) [before, moved] = [places, now];
      if (now - moved > STILL || now - start > LONGEST) then();
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
