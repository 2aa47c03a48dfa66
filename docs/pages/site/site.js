// A part that scrolls sideways can be reached by Tab, and scrolled by the arrow keys.
addEventListener("load", () => {
  for (const part of document.querySelectorAll("pre, pre code, .col-md-9 table")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
});
