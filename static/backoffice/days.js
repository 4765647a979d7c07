// Days, times and months have one form everywhere: 2026-11-28, 2026-11-28 14:30 and 2026-11. A browser's own date fields
// use the format that is set on the computer. Therefore, where there is a mouse, they become text fields with a button
// for the calendar. A browser without a calendar of months has a text field already.
"use strict";
(() => {
  if (!window.matchMedia("(pointer: fine)").matches || !HTMLInputElement.prototype.showPicker) return;

  const EXAMPLES = { date: "2026-11-28", "datetime-local": "2026-11-28 14:30", month: "2026-11" };
  const upgrade = (field) => {
    const example = EXAMPLES[field.type];
    const textOf = (value) => value.replace("T", " ");
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
    Object.assign(field, { type: "text", defaultValue: textOf(value), value: textOf(now), size: example.length + 1, autocomplete: "off", placeholder: example });
    const box = Object.assign(document.createElement("span"), { className: "with-picker" });
    field.replaceWith(box);
    box.append(field, picker, button);
    button.addEventListener("click", () => {
      picker.value = field.value.trim().replace(" ", "T");
      picker.showPicker();
    });
    picker.addEventListener("change", () => {
      field.value = textOf(picker.value);
      for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    });
    button.disabled = field.disabled;
  };
  const upgradeAll = (root) => {
    for (const field of root.querySelectorAll("input")) if (field.type in EXAMPLES && !field.closest(".with-picker")) upgrade(field);
  };
  upgradeAll(document);
  document.addEventListener("larder:row", (event) => upgradeAll(event.target));
})();
