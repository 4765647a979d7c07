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
  const menu = document.querySelector("details[data-menu]");
  if (menu && window.matchMedia("(max-width: 60rem)").matches) menu.open = false;
})();
