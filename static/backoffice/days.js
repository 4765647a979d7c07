// Days and times are written in one form everywhere, as 2026-11-28 and 2026-11-28 14:30. Browsers write them in their
// own fields as each computer is set, so where there is a mouse they become text fields with a button for the calendar.
"use strict";
(() => {
  if (!window.matchMedia("(pointer: fine)").matches || !HTMLInputElement.prototype.showPicker) return;

  const upgrade = (field) => {
    const hasTime = field.type === "datetime-local";
    const written = (value) => value.replace("T", " ");
    const label = field.labels?.[0];
    const picker = Object.assign(document.createElement("input"), { type: field.type, tabIndex: -1 });
    picker.setAttribute("aria-hidden", "true");
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: window.larderSay("Calendar") });
    if (label) {
      label.id ||= `${field.id}-label`;
      button.setAttribute("aria-describedby", label.id);
    }
    const value = field.defaultValue;
    const now = field.value;
    Object.assign(field, { type: "text", defaultValue: written(value), value: written(now), size: hasTime ? 17 : 11, autocomplete: "off" });
    field.placeholder = hasTime ? "2026-11-28 14:30" : "2026-11-28";
    const box = Object.assign(document.createElement("span"), { className: "with-picker" });
    field.replaceWith(box);
    box.append(field, picker, button);
    button.addEventListener("click", () => {
      picker.value = field.value.trim().replace(" ", "T");
      picker.showPicker();
    });
    picker.addEventListener("change", () => {
      field.value = written(picker.value);
      for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    });
    button.disabled = field.disabled;
  };
  const upgradeAll = (root) => {
    for (const field of root.querySelectorAll("input[type=date], input[type=datetime-local]")) if (!field.closest(".with-picker")) upgrade(field);
  };
  upgradeAll(document);
  document.addEventListener("larder:row", (event) => upgradeAll(event.target));
})();
