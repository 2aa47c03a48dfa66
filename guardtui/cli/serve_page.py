"""The page of `guardtui serve`: a terminal, with addresses relative to its own."""

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
      body:not(.-closed) .closed {
        display: none;
      }
    </style>
  </head>
  <body>
    <div class="note opening">guardtui</div>
    <div class="note closed">
      <div>Session ended.</div>
      <button type="button">Restart</button>
    </div>
    <div id="terminal" class="textual-terminal" data-font-size="16"></div>
    <script>
      const terminal = document.getElementById("terminal");
      const address = new URL("ws", window.location.href);
      address.protocol = address.protocol.replace("http", "ws");
      terminal.dataset.sessionWebsocketUrl = address.href;
      // The terminal measures its cells when it opens, so the font is loaded first.
      const open = window.onload;
      window.onload = () => document.fonts.load("16px 'Roboto Mono'").finally(open);
      const restart = document.querySelector(".closed button");
      restart.addEventListener("click", () => window.location.reload());
      // Keys go to the app as soon as it shows itself, and to the button when it has ended.
      new MutationObserver((changes, observer) => {
        if (document.body.classList.contains("-closed")) {
          restart.focus();
          observer.disconnect();
        } else if (document.body.classList.contains("-first-byte")) {
          const keys = document.querySelector(".xterm-helper-textarea");
          if (!terminal.contains(document.activeElement)) keys.focus();
        }
      }).observe(document.body, { attributeFilter: ["class"] });
    </script>
  </body>
</html>
"""
"""Policy of the page: style, script and fonts of textual-serve come from the same server."""
