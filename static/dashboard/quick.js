// The short form of a complaint. Photos are collected as they are taken. The complaint is sent first and the photos after
// it, each with its progress. Whatever does not arrive can be sent again; nothing is stored twice.
"use strict";
(() => {
  const form = document.querySelector("[data-quick]");
  if (!form) return;
  const list = form.querySelector("[data-photos]");
  const status = form.querySelector("[data-said]");
  const button = form.querySelector("button[type=submit]");
  const photos = [];
  let saved = null;

  const element = (tag, properties = {}) => Object.assign(document.createElement(tag), properties);
  const collect = (input) => {
    for (const file of input.files) {
      const row = element("li");
      const bar = element("progress", { max: 100, value: 0, hidden: true });
      bar.setAttribute("aria-label", file.name);
      const photo = { file, row, bar, once: form.elements.once.value.slice(0, 24) + [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
      const remove = element("button", { type: "button", className: "plain", textContent: window.larderSay("Remove") });
      remove.setAttribute("aria-label", window.larderSay("Remove %(text)s", { text: file.name }));
      remove.addEventListener("click", () => {
        photos.splice(photos.indexOf(photo), 1);
        row.remove();
        input.focus();
      });
      photo.remove = remove;
      row.append(`${file.name} `, bar, remove);
      list.append(row);
      photos.push(photo);
    }
    input.value = "";
  };
  for (const input of form.querySelectorAll("input[type=file]")) input.addEventListener("change", () => collect(input));

  const save = async (isAgain = false) => {
    const data = new FormData(form);
    data.delete("photos");
    const answer = await fetch(form.action || location.href, { method: "POST", body: data, headers: { Accept: "application/json" }, redirect: "manual" });
    if (answer.type === "opaqueredirect" || answer.status === 403) {
      if (isAgain) throw new Error(window.larderSay("It could not be sent. Try again."));
      if (await window.larderRenew()) return save(true);
      throw new Error(window.larderSay("You are signed out: sign in again in another tab, then press Send again. What you typed and the photos stay here."));
    }
    const body = await answer.json();
    if (!answer.ok) throw new Error((body.faults || [window.larderSay("It could not be sent. Try again.")]).join(" "));
    form.dispatchEvent(new Event("larder:saved"));
    return body;
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    status.className = "";
    status.textContent = window.larderSay("Sending…");
    try {
      saved = saved || (await save());
    } catch (error) {
      status.className = "errornote";
      status.textContent = error instanceof TypeError ? window.larderSay("The connection was lost. Nothing is lost: press Send again.") : error.message;
      button.disabled = false;
      const field = form.elements.complaint_description;
      field.setAttribute("aria-invalid", String(!field.value.trim()));
      if (!field.value.trim()) field.focus();
      return;
    }
    const faults = [];
    for (const photo of [...photos]) {
      photo.bar.hidden = false;
      photo.remove.hidden = true;
      const fields = { csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value, once: photo.once };
      const answer = await window.larderSendFile(saved.attach, fields, photo.file, (part) => (photo.bar.value = part));
      if (answer.added?.length) {
        photos.splice(photos.indexOf(photo), 1);
        photo.row.remove();
        continue;
      }
      faults.push(...(answer.faults || []));
      photo.bar.hidden = true;
      photo.remove.hidden = false;
    }
    if (!photos.length) {
      location.assign(saved.page);
      return;
    }
    button.disabled = false;
    button.textContent = window.larderSay("Send the photos again");
    status.replaceChildren(`${window.larderSay("The complaint was kept.")} ${faults.join(" ")} `, element("a", { href: saved.page, textContent: window.larderSay("Open the complaint without them") }));
  });
})();
