// Attaching files to a record: dropped or chosen, several at once, each sent on its own with its progress. A file whose
// answer was lost is sent again under its own id when the button is pressed again, so it is stored once.
// Without this script the form still sends all chosen files together.
"use strict";
(() => {
  const say = window.larderSay;
  for (const panel of document.querySelectorAll("[data-attachments]")) {
    const form = panel.querySelector("[data-upload]");
    if (!form) continue;
    const [list, uploads, said, drop] = ["list", "uploads", "said", "drop"].map((name) => panel.querySelector(`[data-${name}]`));
    const limit = Number(form.dataset.limit);
    let remaining = 0;
    let added = 0;
    let lost = [];
    let unsent = false;
    const ids = new WeakMap();
    const faults = [];

    const idOf = (file) => {
      if (!ids.has(file)) {
        const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
        ids.set(file, `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`);
      }
      return ids.get(file);
    };

    const tell = () => {
      const done = added === 1 ? say("1 file attached.") : say("%(added)s files attached.", { added });
      said.textContent = remaining ? say("%(left)s still to be sent.", { left: remaining }) : [added ? done : "", ...faults].join(" ").trim();
    };

    const finish = (row, answer, file) => {
      remaining -= 1;
      if (answer.lost) lost.push(file);
      row.remove();
      for (const html of answer.added || []) {
        const holder = document.createElement("template");
        holder.innerHTML = html.trim();
        list.prepend(holder.content.firstElementChild);
        added += 1;
      }
      faults.push(...(answer.faults || []));
      if (answer.limits) panel.querySelector("[data-limits]").textContent = answer.limits;
      const empty = panel.querySelector("[data-empty]");
      if (empty && list.children.length) empty.remove();
      tell();
    };

    const send = (file) =>
      new Promise((resolve) => {
        const row = document.createElement("li");
        const label = document.createElement("label");
        const bar = document.createElement("progress");
        label.textContent = file.name;
        bar.max = 100;
        bar.value = 0;
        label.append(" ", bar);
        row.append(label);
        uploads.append(row);
        const end = (answer) => {
          finish(row, answer, file);
          resolve();
        };
        if (limit && file.size > limit) return end({ faults: [say("%(name)s: The file is too large.", { name: file.name })] });
        const fields = Object.fromEntries([...new FormData(form)].filter(([name]) => name !== "files" && name !== "photo"));
        window.larderSendFile(form.action, { ...fields, once: idOf(file) }, file, (part) => (bar.value = part)).then(end);
        return undefined;
      });

    const sendAll = async (files) => {
      if (remaining) return;
      added = 0;
      lost = [];
      faults.length = 0;
      remaining = files.length;
      tell();
      for (const file of files) await send(file);
      for (const input of form.querySelectorAll("input[type=file]")) input.value = "";
      unsent = lost.length > 0;
    };
    form.addEventListener("input", () => { unsent = true; });
    window.addEventListener("beforeunload", (event) => { if (remaining || unsent) event.preventDefault(); });

    form.addEventListener("submit", (event) => {
      const files = [...lost, ...[...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files])];
      event.preventDefault();
      if (files.length) sendAll(files);
      else said.textContent = say("Choose a file first.");
    });

    drop.hidden = false;
    for (const name of ["dragenter", "dragover"]) {
      panel.addEventListener(name, (event) => {
        event.preventDefault();
        panel.classList.add("dragging");
      });
    }
    for (const name of ["dragleave", "drop"]) panel.addEventListener(name, () => panel.classList.remove("dragging"));
    panel.addEventListener("drop", (event) => {
      event.preventDefault();
      const files = [...event.dataTransfer.files];
      if (files.length) sendAll(files);
    });
  }
})();
