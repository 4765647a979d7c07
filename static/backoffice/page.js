// Small things of every page: copying a secret, sending a form once, switching the site at once, the menu on a phone.
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
      const label = button.textContent;
      try {
        await navigator.clipboard.writeText(field.value);
        button.textContent = window.larderSay("Copied");
      } catch {
        field.focus();
        field.select();
        button.textContent = window.larderSay("Press Ctrl+C");
      }
      setTimeout(() => (button.textContent = label), 3000);
    });
  }
  // A filter by days is either one of the usual spans or two dates: choosing one clears the other.
  for (const days of document.querySelectorAll("[data-days]")) {
    const span = days.querySelector("select");
    const ends = [...days.querySelectorAll("input")];
    span.addEventListener("change", () => { if (span.value) for (const end of ends) end.value = ""; });
    for (const end of ends) end.addEventListener("change", () => { if (end.value) span.value = ""; });
  }
  // Other records are searched in parts, each of which names the next one. Until the last is there, or one failed, the
  // button waits.
  for (const search of document.querySelectorAll("[data-search]")) {
    const [matches, status] = [search.querySelector("[data-found]"), search.querySelector("[data-said]")];
    const button = document.querySelector("button.default");
    const show = (isLoading, hasFailed = false) => {
      const link = status.querySelector("a");
      button.disabled = isLoading && Boolean(link);
      if (!link) return;
      for (const wait of status.querySelectorAll("[data-wait]")) wait.hidden = !isLoading;
      status.querySelector("[data-failed]").hidden = !hasFailed;
      link.hidden = isLoading;
    };
    const load = async () => {
      for (let link = status.querySelector("a"); link; link = status.querySelector("a")) {
        show(true);
        try {
          const answer = await fetch(`${link.href}&part`, { redirect: "error" });
          if (answer.status === 400) {
            // The record was changed: the search begins again.
            link.href = "?searched";
            matches.replaceChildren();
          }
          if (!answer.ok) throw answer;
          const part = new DOMParser().parseFromString(await answer.text(), "text/html");
          const [list, more] = [matches, part].map((place) => place.querySelector("ul"));
          if (list && more) list.append(...more.children);
          else if (more) matches.replaceChildren(...part.querySelector("[data-found]").childNodes);
          part.querySelector("[data-former]")?.remove(); // What parts before this one have found is on this page.
          status.innerHTML = part.querySelector("[data-said]").innerHTML;
        } catch {
          return show(false, true);
        }
      }
      show(false);
    };
    status.addEventListener("click", (event) => {
      if (!event.target.closest("a")) return;
      event.preventDefault();
      load();
    });
    load();
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
  } else {
    // A short form without a summary: the first faulty field takes the focus, so that its fault is read out.
    [...document.querySelectorAll("main [aria-invalid=true]")].find((field) => field.checkVisibility())?.focus();
  }
  // A form is sent once: its buttons do nothing until the next page is there. A form whose answer is a file (data-again)
  // leaves the page open and can be sent again soon, as another form (its id changes), but not by a double click.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if ("sending" in form.dataset) return event.preventDefault();
    form.dataset.sending = "";
    const [again, id] = ["again" in form.dataset, form.elements.larder_once];
    setTimeout(() => {
      delete form.dataset.sending;
      if (again && id) id.value = id.value.slice(0, 24) + [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    }, again ? 1000 : 15000);
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sending]")) delete form.dataset.sending;
  });
  // Enter in a one-line field of a record's form would save it half filled: only its buttons save.
  for (const form of document.querySelectorAll(".change-form #content-main form[method=post]")) {
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("input:not([type=submit], [type=button])")) event.preventDefault();
    });
  }
  const menu = document.querySelector("details[data-menu]");
  // On a phone a list is shown as cards, in which each value has the name of its column.
  for (const table of document.querySelectorAll(".results table, .cards table")) {
    const names = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, place) => { if (names[place] && cell.colSpan === 1) cell.dataset.label = names[place]; });
  }
  // Below a table that does not fit, a text says so, because nobody could tell that a column is cut off.
  for (const frame of document.querySelectorAll(".wide")) {
    let cut = frame.nextElementSibling?.closest("[data-cut]");
    if (!cut) {
      cut = Object.assign(document.createElement("p"), { className: "quiet", textContent: window.larderSay("More columns are on the right: scroll the table.") });
      cut.dataset.cut = "";
      frame.after(cut);
    }
    new ResizeObserver(() => { cut.hidden = frame.scrollWidth <= frame.clientWidth + 1; }).observe(frame);
  }
  const bulk = document.querySelector("[data-bulk]");
  if (bulk) {
    const boxes = [...document.querySelectorAll(".action-select")];
    const all = document.getElementById("action-toggle");
    const matching = bulk.querySelector("[data-all-matching]");
    const tell = () => {
      const count = boxes.filter((box) => box.checked).length;
      const isEverything = Boolean(matching?.checked);
      for (const box of all ? [...boxes, all] : boxes) box.disabled = isEverything;
      bulk.classList.toggle("has-chosen", isEverything || count > 0);
      bulk.querySelector("[data-chosen]").textContent = isEverything ? window.larderSay("All that match are chosen") : count ? window.larderSay("%(count)s chosen", { count }) : "";
      if (all) Object.assign(all, { checked: count === boxes.length, indeterminate: count > 0 && count < boxes.length });
    };
    for (const box of boxes) box.addEventListener("change", tell);
    if (matching) matching.addEventListener("change", tell);
    if (all) all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; tell(); });
    tell();
  }
  const phone = window.matchMedia("(max-width: 40rem)");
  for (const tools of document.querySelectorAll("[data-fold]")) {
    // On a phone, all buttons and links but the most likely next ones are hidden behind one button.
    const others = tools.querySelectorAll(".other");
    if (others.length < 2) continue;
    const more = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: window.larderSay("More") });
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => button.setAttribute("aria-expanded", String(tools.classList.toggle("is-open"))));
    more.className = "more";
    more.append(button);
    others[0].before(more);
    tools.classList.add("can-fold");
  }
  const searchField = document.getElementById("global-search");
  if (searchField) {
    // On a phone there is no room for a hint or a button, so the field has the text that is on the button elsewhere.
    const hint = searchField.placeholder;
    const arrange = () => { searchField.placeholder = phone.matches ? searchField.form.querySelector("button").textContent : hint; };
    arrange();
    phone.addEventListener("change", arrange);
  }
  const narrow = window.matchMedia("(max-width: 60rem)");
  if (menu) {
    // On a narrow window the header is one row: who is signed in, the site and the theme move into the menu.
    const tools = menu.querySelector("[data-menu-tools]");
    const header = document.querySelector(".top");
    const movable = [...header.querySelectorAll("[data-in-menu]")];
    const arrange = () => {
      (narrow.matches ? tools : header).append(...movable);
      menu.open = !narrow.matches;
      document.body.classList.toggle("one-row", narrow.matches);
    };
    arrange();
    narrow.addEventListener("change", arrange);
  }
})();
