// Choosing among very many: a text field that looks entries up (WAI-ARIA combobox with a listbox).
"use strict";
(() => {
  let count = 0;

  const element = (tag, attributes = {}, text = "") => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text) node.textContent = text;
    return node;
  };

  const upgrade = (select) => {
    if (select.dataset.upgraded) return;
    select.dataset.upgraded = "yes";
    const id = select.id || `choose-${++count}`;
    const listId = `${id}-choices`;
    const label = document.querySelector(`label[for="${CSS.escape(id)}"]`);
    const name = label ? label.textContent.replace(/:\s*$/, "").trim() : window.larderSay("Choices");
    const box = element("div", { class: "choose" });
    const input = element("input", {
      type: "text", role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list",
      "aria-controls": listId, autocomplete: "off", placeholder: window.larderSay("Type to look up"),
    });
    const list = element("ul", { id: listId, role: "listbox", "aria-label": name });
    const status = element("span", { class: "visually-hidden", role: "status" });
    const chips = element("ul", { class: "chips" });
    const fault = element("p", { class: "unmatched", role: "alert", id: `${id}-unmatched`, hidden: "" });
    list.hidden = true;
    select.id = `${id}-values`;
    input.id = id;
    for (const attribute of ["aria-describedby", "aria-invalid", "aria-label"]) {
      if (select.hasAttribute(attribute)) input.setAttribute(attribute, select.getAttribute(attribute));
    }
    if (select.required) input.setAttribute("aria-required", "true");
    select.required = false;
    select.hidden = true;
    select.after(box);
    if (select.multiple) box.append(chips);
    box.append(input, list, status, fault);
    input.setAttribute("aria-describedby", [input.getAttribute("aria-describedby"), fault.id].filter(Boolean).join(" "));

    const chosenOptions = () => [...select.selectedOptions].filter((option) => option.value);
    const describe = () => {
      if (select.multiple) {
        chips.replaceChildren(...chosenOptions().map((option) => {
          const chip = element("li", {}, option.text);
          const button = element("button", { type: "button", class: "plain", "aria-label": window.larderSay("Remove %(text)s", { text: option.text }) }, "×");
          button.addEventListener("click", () => { option.remove(); announceChange(); input.focus(); });
          chip.append(button);
          return chip;
        }));
        chips.hidden = !chips.childElementCount;
        input.value = "";
      } else {
        input.value = chosenOptions()[0] ? chosenOptions()[0].text : "";
      }
    };
    const announceChange = () => { unmatched(""); describe(); select.dispatchEvent(new Event("change", { bubbles: true })); };
    const unmatched = (text) => {
      fault.textContent = text;
      fault.hidden = !text;
      input.toggleAttribute("data-unmatched", Boolean(text));
    };
    let turns = 0;
    let waiting;
    const close = () => {
      ++turns; // An answer that comes later must not open the list again, over what is pressed next.
      clearTimeout(waiting);
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const options = () => [...list.querySelectorAll("[role=option]")];
    const activate = (option) => {
      for (const other of options()) other.setAttribute("aria-selected", String(other === option));
      if (!option) return input.removeAttribute("aria-activedescendant");
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    };
    const pick = (option) => {
      if (!select.multiple) select.replaceChildren(element("option", { value: "" }));
      if (![...select.options].some((known) => known.value === option.dataset.id)) {
        select.append(new Option(option.textContent, option.dataset.id, true, true));
      } else {
        [...select.options].find((known) => known.value === option.dataset.id).selected = true;
      }
      announceChange();
      close();
    };
    const look = async () => {
      const turn = ++turns;
      unmatched("");
      const text = select.multiple || input.value !== (chosenOptions()[0] || {}).text ? input.value.trim() : "";
      let answer;
      try {
        const partner = select.dataset.chooseWith && select.form.elements[select.dataset.chooseWith];
        const within = partner ? `&${partner.name}=${encodeURIComponent(partner.value)}` : "";
        const response = await fetch(`${select.dataset.choose}${within}&q=${encodeURIComponent(text)}`, { headers: { Accept: "application/json" } });
        if (!response.ok) throw new Error(String(response.status));
        answer = await response.json();
      } catch {
        status.textContent = window.larderSay("The choices cannot be loaded at the moment. Try again.");
        return;
      }
      if (turn !== turns || document.activeElement !== input) return;
      list.replaceChildren(...answer.results.map((found, place) => {
        const option = element("li", { role: "option", id: `${listId}-${place}`, "aria-selected": "false" }, found.text);
        option.dataset.id = found.id;
        option.addEventListener("mousedown", (event) => { event.preventDefault(); pick(option); });
        return option;
      }));
      list.hidden = !answer.results.length;
      input.setAttribute("aria-expanded", String(!list.hidden));
      status.textContent = answer.results.length
        ? window.larderSay(answer.more ? window.larderSay("%(count)s or more found; type more to narrow") : window.larderSay("%(count)s found"), { count: answer.results.length })
        : window.larderSay("Nothing found");
      unmatched(!answer.results.length && text ? window.larderSay("Nothing matches “%(text)s”.", { text }) : "");
    };
    input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 180); });
    input.addEventListener("click", look);
    input.addEventListener("keydown", (event) => {
      const entries = options();
      const at = entries.findIndex((option) => option.id === input.getAttribute("aria-activedescendant"));
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) return look();
        const step = event.key === "ArrowDown" ? 1 : -1;
        activate(entries[(at + step + entries.length) % entries.length]);
      } else if (event.key === "Enter" && !list.hidden) {
        event.preventDefault();
        if (entries[at] || entries.length === 1) pick(entries[at] || entries[0]);
      } else if (event.key === "Escape" && !list.hidden) {
        event.preventDefault();
        unmatched("");
        describe();
        close();
      } else if (event.key === "Backspace" && select.multiple && !input.value && chosenOptions().length) {
        chosenOptions().at(-1).remove();
        announceChange();
      }
    });
    input.addEventListener("blur", () => {
      close();
      const text = input.value.trim();
      if (!text && !select.multiple && chosenOptions().length) {
        select.replaceChildren(element("option", { value: "" }));
        announceChange();
      }
      const open = text && (select.multiple || text !== (chosenOptions()[0] || {}).text);
      if (open) unmatched(window.larderSay("“%(text)s” is not chosen: choose one of the entries that are offered, or empty the field.", { text }));
      else unmatched("");
    });
    select.addEventListener("larder:filled", describe);
    if (select.form) select.form.addEventListener("submit", (event) => {
      if (!input.hasAttribute("data-unmatched") || event.defaultPrevented) return;
      event.preventDefault();
      input.focus();
    });
    describe();
  };

  const upgradeAll = (root) => {
    for (const select of root.querySelectorAll("select[data-choose]")) upgrade(select);
  };
  upgradeAll(document);
  document.addEventListener("larder:row", (event) => upgradeAll(event.target));
})();
