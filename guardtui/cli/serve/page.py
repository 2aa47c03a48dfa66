"""The page of `guardtui serve`: a terminal, with addresses relative to its own."""

STATIC = (
    "css/xterm.css",
    "js/textual.js",
    "fonts/RobotoMono-VariableFont_wght.ttf",
    "fonts/RobotoMono-Italic-VariableFont_wght.ttf",
)
"""Files of textual-serve that the page asks for."""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>guardtui</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="static/css/xterm.css" />
    <script src="static/js/textual.js"></script>
    <style>
      @font-face {
        font-family: "Roboto Mono";
        src: url("static/fonts/RobotoMono-VariableFont_wght.ttf");
      }
      @font-face {
        font-family: "Roboto Mono";
        font-style: italic;
        src: url("static/fonts/RobotoMono-Italic-VariableFont_wght.ttf");
      }
      body {
        background: #0c181f;
        color: #f2f4f5;
        font-family: "Roboto Mono", menlo, monospace;
      }
      .note {
        position: absolute;
        inset: 0;
        display: flex;
        flex-direction: column;
        align-items: center;
        justify-content: center;
        z-index: 10;
        background: #0c181f;
      }
      .note button {
        margin: 16px;
        padding: 12px 32px;
        font: inherit;
      }
      body.-first-byte .opening,
      body.-closed .opening,
      body:not(.-closed.-first-byte) .ended,
      body:not(.-closed) .refused,
      body.-first-byte .refused {
        display: none;
      }
    </style>
  </head>
  <body>
    <div class="note opening">guardtui</div>
    <div class="note ended">
      <div>Session ended.</div>
      <button type="button">Restart</button>
    </div>
    <div class="note refused">
      <div>The app did not open.</div>
      <div>Copy the whole address that guardtui serve printed into the address bar.</div>
      <div>If it was the whole, the terminal of guardtui serve says why.</div>
    </div>
    <div id="terminal" class="textual-terminal" data-font-size="16"></div>
    <script>
      const body = document.body;
      const terminal = document.getElementById("terminal");
      const token = location.hash.slice(1) || localStorage.getItem("token");
      terminal.dataset.sessionWebsocketUrl = `ws://${location.host}/ws/${token}`;
      // The terminal measures its cells when it opens, so the font is loaded first.
      const open = window.onload;
      window.onload = async () => {
        await document.fonts.load("16px 'Roboto Mono'").catch(() => {});
        open();
        delete terminal.dataset.sessionWebsocketUrl;
      };
      window.addEventListener("hashchange", () => location.reload());
      const restart = document.querySelector(".ended button");
      restart.addEventListener("click", () => location.reload());
      // The browser pastes its clipboard; the terminal would send the key to the app, which has
      // another one.
      const pastes = (e) =>
        e.keyCode === 86 && e.ctrlKey && !e.shiftKey && !e.altKey && !e.metaKey;
      window.addEventListener("keydown", (e) => pastes(e) && e.stopImmediatePropagation(), true);
      // Keys go to the app as soon as it shows itself, and to the button when it has ended.
      new MutationObserver((changes, observer) => {
        if (body.classList.contains("-closed")) {
          restart.focus();
          observer.disconnect();
        } else if (body.classList.contains("-first-byte")) {
          const keys = document.querySelector(".xterm-helper-textarea");
          if (!terminal.contains(document.activeElement)) keys.focus();
          // From now on reloads and other tabs need no token in their address.
          localStorage.setItem("token", token);
          history.replaceState(null, "", location.pathname);
        }
      }).observe(body, { attributeFilter: ["class"] });
    </script>
  </body>
</html>
"""
"""Policy of the page: style, script and fonts of textual-serve come from the same server."""
