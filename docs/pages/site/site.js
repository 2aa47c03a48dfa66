// A part that scrolls sideways can be reached by Tab, and scrolled by the arrow keys. The search says
// why it finds nothing when the site is opened from the disk.
addEventListener("load", () => {
  for (const part of document.querySelectorAll("pre, pre code, .col-md-9 table")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
  if (location.protocol === "file:") {  // browsers start no worker there
    document.querySelector("#mkdocs_search_modal p").textContent =
      "Search needs a server: run “python -m http.server” in the folder of these pages.";
  }
});
