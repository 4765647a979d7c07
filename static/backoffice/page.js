// Small things of every page: copying a secret, switching the site at once, the menu on a phone.
"use strict";
(() => {
  for (const select of document.querySelectorAll("select[data-submit]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
    for (const button of select.form.querySelectorAll("[data-hide]")) button.hidden = true;
  }
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const field = document.getElementById(button.dataset.copy);
      const said = button.textContent;
      try {
        await navigator.clipboard.writeText(field.value);
        button.textContent = "Copied";
      } catch {
        field.focus();
        field.select();
        button.textContent = "Press Ctrl+C";
      }
      setTimeout(() => (button.textContent = said), 3000);
    });
  }
  const summary = document.querySelector("[data-focus]");
  if (summary) {
    summary.focus();
    summary.addEventListener("click", (event) => {
      const target = event.target.closest("a") && document.getElementById(decodeURIComponent(event.target.hash.slice(1)));
      if (!target) return;
      event.preventDefault();
      const field = target.matches("input, select, textarea, button") ? target : target.querySelector("input, select, textarea, button") || target;
      field.scrollIntoView({ block: "center" });
      field.focus();
    });
  }
  const menu = document.querySelector("details[data-menu]");
  if (menu && window.matchMedia("(max-width: 60rem)").matches) menu.open = false;
})();
