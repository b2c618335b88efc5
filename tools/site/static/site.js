// What the theme leaves to do for readers who use a keyboard or a screen reader.

function nameByContent() {
  // These labels differ from the text that is shown, so a spoken command would not find the control.
  const labelled = "details.hide > summary[aria-label], .search-button-field[aria-label]";
  document.querySelectorAll(labelled).forEach((control) => control.removeAttribute("aria-label"));
}

function reachScrolling() {
  // A formula that scrolls must get the focus, or the keyboard can't scroll it.
  document.querySelectorAll("div.math, mjx-container[display]").forEach((formula) => {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
    else formula.removeAttribute("tabindex");
  });
}

document.addEventListener("DOMContentLoaded", async () => {
  nameByContent();
  await window.MathJax?.startup?.promise;
  reachScrolling();
  window.addEventListener("resize", reachScrolling);
});
