// Rows of a record's page: add one from the page's template, or take a new one out again.
"use strict";
(() => {
  document.addEventListener("click", (event) => {
    const add = event.target.closest("[data-add-row]");
    if (add) {
      const group = add.closest(".inline-group");
      const total = group.querySelector(`[name="${group.dataset.prefix}-TOTAL_FORMS"]`);
      const rows = group.querySelector("[data-rows]");
      const html = group.querySelector("template").innerHTML.replaceAll("__prefix__", total.value);
      const holder = document.createElement("template");
      holder.innerHTML = html;
      const row = holder.content.firstElementChild;
      rows.append(row);
      total.value = String(Number(total.value) + 1);
      row.dispatchEvent(new CustomEvent("larder:row", { bubbles: true }));
      const first = row.querySelector("input:not([type=hidden]), select, textarea");
      if (first) first.focus();
    }
    const remove = event.target.closest("[data-remove-row]");
    if (remove) {
      const group = remove.closest(".inline-group");
      remove.closest(".row-form, tr").remove();
      group.querySelector("[data-add-row]").focus();
    }
  });
})();
