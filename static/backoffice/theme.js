// Light, dark or as the system has it: kept in the browser, set before the page is drawn.
"use strict";
(() => {
  const KEY = "larder-theme";
  const names = { auto: window.larderSay("Theme: system"), light: window.larderSay("Theme: light"), dark: window.larderSay("Theme: dark") };
  const read = () => {
    try {
      const theme = localStorage.getItem(KEY);
      return theme in names ? theme : "auto";
    } catch {
      return "auto";
    }
  };
  const show = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  show(read());
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.hidden = false;
      button.textContent = names[read()];
      button.addEventListener("click", () => {
        const order = Object.keys(names);
        const next = order[(order.indexOf(read()) + 1) % order.length];
        try {
          localStorage.setItem(KEY, next);
        } catch {
          // Without storage the choice lasts as long as the page.
        }
        show(next);
        button.textContent = names[next];
      });
    }
  });
})();
