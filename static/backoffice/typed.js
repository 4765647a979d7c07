// What people type is kept in their browser until it is saved. Leaving the page warns them, and nothing is lost with
// the session. It is kept for each account until the end of the session in which it was typed, and removed on sign-out.
// So are the pages that open without a connection (static/audits/worker.js). Files and passwords are never kept. The
// server confirms a save by naming the form's token in the cookie `larder-saved`.
"use strict";
(() => {
  const PREFIX = "larder-typed:";
  const body = document.body;
  const { account } = body.dataset;
  const endOfSession = () => Number(body.dataset.sessionEnd);
  const isOver = () => Date.now() >= endOfSession();

  const draftKeys = () => Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  const read = (key) => {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  };
  const savedTokens = () => {
    const cookie = document.cookie.split("; ").find((part) => /^(__Host-)?larder-saved=/.test(part));
    if (!cookie) return [];
    const [name, value] = cookie.split("=");
    document.cookie = `${name}=; path=/; max-age=0; samesite=lax${name.startsWith("__Host-") ? "; secure" : ""}`;
    return value.split(".");
  };
  const tidy = () => {
    const saved = savedTokens();
    for (const key of draftKeys()) {
      const draft = read(key);
      const done = saved.includes("signed-out") || saved.includes(key.split(":").at(-1));
      if (done || !draft || !(draft.end > Date.now())) localStorage.removeItem(key);
    }
    for (const key of Object.keys(sessionStorage)) {
      if (key.startsWith(PREFIX) && saved.includes(sessionStorage.getItem(key))) sessionStorage.removeItem(key);
    }
    tidyPages(saved.includes("signed-out"));
  };
  const tidyPages = async (isSignedOut) => {
    if (!("caches" in window)) return;
    for (const name of await caches.keys()) {
      const [prefix, owner, until] = name.split(":");
      const isOurs = !account || owner === account;
      if (prefix === "larder-page" && (isSignedOut || !isOurs || !(Number(until) > Date.now()))) await caches.delete(name);
    }
  };
  // Gives the page's forms a new token once the same person has signed in again in another tab; null until then.
  window.larderRenew = async () => {
    const answer = await fetch(document.querySelector(".brand").href, { redirect: "manual" });
    const start = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!start || !account || start.body.dataset.account !== account) return null;
    body.dataset.sessionEnd = start.body.dataset.sessionEnd;
    const { value } = start.querySelector("[name=csrfmiddlewaretoken]");
    for (const field of document.querySelectorAll("[name=csrfmiddlewaretoken]")) field.value = value;
    return value;
  };
  try {
    tidy();
  } catch {
    return; // The browser keeps nothing for this page.
  }
  if (!account) return;

  // After the end of the session nothing is kept any more. What was typed stays only on the open page. The page says so,
  // and can be sent after the same person has signed in again.
  const watched = new Map();
  const tellTheEnd = (form) => {
    const before = form.previousElementSibling;
    const notice = before?.matches("[data-session-over]") ? before : Object.assign(document.createElement("section"), { className: "kept" });
    const link = Object.assign(document.createElement("a"), { href: document.querySelector(".brand").href, target: "_blank", rel: "noopener", textContent: window.larderSay("Sign in again in another tab") });
    const advice = document.createElement("p");
    advice.append(link, ". ", window.larderSay("Then send this page: what you typed is on it, and is not kept anywhere else."));
    notice.dataset.sessionOver = "";
    notice.setAttribute("role", "alert");
    notice.replaceChildren(Object.assign(document.createElement("h2"), { textContent: window.larderSay("Your session has ended") }), advice);
    form.before(notice);
    return link;
  };
  const awaitTheEnd = () => setTimeout(() => {
    if (!isOver()) return awaitTheEnd();
    tidy();
    for (const [form, isTouched] of watched) if (isTouched()) tellTheEnd(form);
    return undefined;
  }, Math.max(endOfSession() - Date.now(), 1000));
  awaitTheEnd();
  let renewed = null; // A computer's clock that is wrong by hours must not prevent a form from being sent.
  document.addEventListener("submit", async (event) => {
    const { target: form, submitter } = event;
    if (!isOver() || !watched.has(form) || renewed === form) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (await window.larderRenew().catch(() => null)) {
      renewed = form;
      awaitTheEnd();
      form.requestSubmit(submitter);
    } else tellTheEnd(form).focus();
  }, true);

  const isKept = (control) =>
    control.name && !["hidden", "password", "file", "submit", "button", "reset", "image", "fieldset", "output"].includes(control.type);
  const valuesOfControl = (control, atFirst) => {
    if (control.type === "checkbox" || control.type === "radio") {
      return (atFirst ? control.defaultChecked : control.checked) ? [[control.value, ""]] : [];
    }
    if (!control.options) return [[atFirst ? control.defaultValue : control.value, ""]];
    const options = [...control.options];
    let picked = options.filter((option) => (atFirst ? option.defaultSelected : option.selected));
    if (!picked.length && !control.multiple) picked = options.slice(0, 1);
    return picked.filter((option) => option.value).map((option) => [option.value, option.text]);
  };
  const valuesOf = (form, atFirst) => {
    const values = {};
    for (const control of form.elements) {
      if (isKept(control)) (values[control.name] ??= []).push(...valuesOfControl(control, atFirst));
    }
    return values;
  };
  const same = (one, two) => JSON.stringify((one || []).map((pair) => pair[0])) === JSON.stringify((two || []).map((pair) => pair[0]));
  const groupsOf = (form) => [...form.querySelectorAll("[data-prefix]")].filter((group) => counter(form, group.dataset.prefix, "TOTAL"));
  const counter = (form, prefix, which) => form.elements[`${prefix}-${which}_FORMS`];
  const labelOf = (form, name) => {
    const control = [...form.elements].find((one) => one.name === name);
    const label = control && (control.labels?.[0] || form.querySelector(`label[for="${CSS.escape(control.id.replace(/-values$/, ""))}"]`));
    return label ? label.textContent.trim() : "";
  };

  // After a form was refused, leaving the page warns, unless one of its forms is sent again.
  let isSent = false;
  window.addEventListener("submit", (event) => { if (!event.defaultPrevented) isSent = true; });

  const watch = (form) => {
    const address = new URL(form.action, location.href);
    address.searchParams.delete("_changelist_filters");
    const site = form.elements.larder_site?.value || "";
    const path = `${address.pathname}${address.search}@${site}#${form.id}`;
    const tokenKey = `${PREFIX}${path}`;
    const token = sessionStorage.getItem(tokenKey) || crypto.getRandomValues(new Uint32Array(3)).join("-");
    const key = `${PREFIX}${account}:${token}`;
    const first = valuesOf(form, true);
    const rowsAtFirst = Object.fromEntries(groupsOf(form).map((group) => [group.dataset.prefix, counter(form, group.dataset.prefix, "TOTAL").value]));
    const refused = "unsaved" in body.dataset;
    // After a form was refused, the page shows what was typed, and all of it is still unsaved.
    const before = (refused && read(key)?.fields) || {};
    let leaving = false;
    let saved = false;

    const changedFields = () => {
      const now = valuesOf(form, false);
      const names = Object.keys(now).filter((name) => name in before || !same(now[name], first[name]));
      return Object.fromEntries(names.map((name) => [name, now[name]]));
    };
    const rows = () =>
      Object.fromEntries(groupsOf(form).map(({ dataset: { prefix } }) => {
        const count = Number(counter(form, prefix, "INITIAL").value);
        const ids = [...Array(count).keys()].map((place) => form.elements[`${prefix}-${place}-id`]?.value || "");
        return [prefix, ids];
      }));
    const hasFiles = () => [...form.elements].some((control) => control.type === "file" && control.files.length);
    const isTouched = () =>
      (refused && !isSent) || hasFiles() || Object.keys(changedFields()).length > 0 ||
      groupsOf(form).some(({ dataset: { prefix } }) => counter(form, prefix, "TOTAL").value !== rowsAtFirst[prefix]);

    watched.set(form, isTouched);

    const keep = () => {
      const fields = changedFields();
      try {
        if (isOver() || !Object.keys(fields).length) return localStorage.removeItem(key);
        const labels = [...new Set(Object.keys(fields).map((name) => labelOf(form, name)).filter(Boolean))];
        const seen = form.elements.larder_seen?.value ?? null;
        sessionStorage.setItem(tokenKey, token);
        localStorage.setItem(key, JSON.stringify({ path, end: endOfSession(), at: Date.now(), seen, fields, labels, rows: rows() }));
      } catch {
        // Without storage, leaving the page still warns.
      }
    };
    let waiting;
    const keepSoon = () => { if (saved) return; clearTimeout(waiting); waiting = setTimeout(keep, 250); };
    for (const event of ["input", "change", "larder:row", "click"]) form.addEventListener(event, keepSoon);

    // Otherwise "Back" shows what was sent in a fresh form, and sending that adds it again or overwrites what others changed.
    const forgetInBrowser = () => { form.autocomplete = "off"; };

    window.addEventListener("submit", (event) => {
      if (event.target !== form || event.defaultPrevented) return;
      clearTimeout(waiting);
      keep();
      forgetInBrowser();
      leaving = true;
      const field = form.elements.larder_typed || form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "larder_typed" }));
      field.value = token;
    });
    form.addEventListener("larder:saved", () => {
      clearTimeout(waiting);
      forgetInBrowser();
      leaving = saved = true;
      localStorage.removeItem(key);
    });
    window.addEventListener("beforeunload", (event) => { if (!leaving && isTouched()) event.preventDefault(); });
    window.addEventListener("pagehide", () => { if (!leaving && waiting) { clearTimeout(waiting); keep(); } });
    window.addEventListener("pageshow", (event) => { if (event.persisted && leaving) location.reload(); });

    const fill = (draft) => {
      const names = new Map();
      for (const prefix of Object.keys(draft.rows || {})) {
        const total = counter(form, prefix, "TOTAL");
        const add = form.querySelector(`[data-prefix="${CSS.escape(prefix)}"] [data-add-row]`);
        if (!total) continue;
        const ids = rows()[prefix];
        const places = [...new Set(Object.keys(draft.fields).filter((name) => name.startsWith(`${prefix}-`)).map((name) => Number(name.slice(prefix.length + 1).split("-")[0])))].sort((a, b) => a - b);
        for (const place of places) {
          const id = draft.rows[prefix][place];
          let target = id ? ids.indexOf(id) : -1;
          if (!id && add) {
            target = Number(total.value);
            add.click();
          }
          names.set(`${prefix}-${place}-`, target < 0 ? "" : `${prefix}-${target}-`);
        }
      }
      for (const [name, values] of Object.entries(draft.fields)) {
        const moved = [...names].find(([start]) => name.startsWith(start));
        if (moved && !moved[1]) continue; // This row does not exist any more.
        const here = moved ? moved[1] + name.slice(moved[0].length) : name;
        [...form.elements].filter((control) => control.name === here && isKept(control)).forEach((control, place) => {
          if (control.type === "checkbox" || control.type === "radio") control.checked = values.some((pair) => pair[0] === control.value);
          else if (control.options) {
            for (const [value, text] of values) {
              if (![...control.options].some((option) => option.value === value)) control.append(new Option(text, value));
            }
            for (const option of control.options) option.selected = values.length ? values.some((pair) => pair[0] === option.value) : !option.value;
          } else control.value = values[place]?.[0] ?? "";
          control.dispatchEvent(new Event("larder:filled"));
        });
      }
      if (draft.seen !== null && form.elements.larder_seen) form.elements.larder_seen.value = draft.seen;
    };

    const offer = (draftKey, draft) => {
      const notice = Object.assign(document.createElement("section"), { className: "kept" });
      const title = Object.assign(document.createElement("h2"), { textContent: window.larderSay("You typed something here that was not saved"), id: `kept-${draftKey.split(":").at(-1)}` });
      notice.setAttribute("aria-labelledby", title.id);
      const offset = new Date(draft.at).getTimezoneOffset() * 60_000;
      const when = new Date(draft.at - offset).toISOString().slice(0, 16).replace("T", " ");
      const about = document.createElement("p");
      about.textContent = `${when}${draft.labels?.length ? `: ${draft.labels.join(", ")}` : ""}. ${window.larderSay("It is kept in this browser only.")}`;
      const isOutdated = draft.seen !== null && form.elements.larder_seen && draft.seen !== form.elements.larder_seen.value;
      if (isOutdated) about.append(" ", window.larderSay("The record was changed since then. When you save, you see what others changed."));
      const button = (text, className, act) => {
        const node = Object.assign(document.createElement("button"), { type: "button", textContent: text, className });
        node.addEventListener("click", () => {
          act();
          localStorage.removeItem(draftKey);
          notice.remove();
          const control = form.querySelector("input:not([type=hidden]), select:not([hidden]), textarea");
          if (control) control.focus();
        });
        return node;
      };
      const buttons = Object.assign(document.createElement("p"), { className: "buttons" });
      buttons.append(button(window.larderSay("Put it back"), "default", () => { fill(draft); keep(); }), button(window.larderSay("Discard it"), "", () => {}));
      notice.append(title, about, buttons);
      form.before(notice);
    };
    const now = valuesOf(form, false);
    for (const draftKey of draftKeys()) {
      const draft = read(draftKey);
      if (!draftKey.startsWith(`${PREFIX}${account}:`) || draft?.path !== path || (draftKey === key && refused)) continue;
      if (Object.entries(draft.fields).every(([name, values]) => name in now && same(values, now[name]))) localStorage.removeItem(draftKey);
      else offer(draftKey, draft);
    }
    if (refused) keep();
  };
  for (const form of document.querySelectorAll("#content-main form[method=post]:not([data-upload], [data-not-kept])")) {
    if ([...form.elements].some((control) => isKept(control))) watch(form);
  }
})();
