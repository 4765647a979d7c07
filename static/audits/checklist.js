// An audit as a checklist: one question at a time. Each answer is sent separately. Without a connection it waits in this
// browser, stored for the account and the audit; static/backoffice/typed.js removes it at the end of the session and on
// sign-out. Each answer is sent with the answer that was seen before it. An answer that is sent twice is therefore stored
// once. If somebody else has answered in the meantime, both answers are shown and nothing is overwritten.
"use strict";
(() => {
  const say = window.larderSay;
  const page = document.querySelector("[data-checklist]");
  if (!page) return;
  const { account } = document.body.dataset;
  const endOfSession = () => Number(document.body.dataset.sessionEnd);
  const part = (name) => page.querySelector(`[data-${name}]`);
  const cards = [...page.querySelectorAll("[data-question]")];
  const questions = cards.filter((card) => card.dataset.question);
  if (!questions.length) return;
  const element = (tag, properties = {}) => Object.assign(document.createElement(tag), properties);
  const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const tokenNow = () => questions[0].querySelector("[name=csrfmiddlewaretoken]").value;
  const isRated = page.dataset.rated === "yes";

  // --- Answers that wait to be sent ---------------------------------------------------------------------------------

  const START = `larder-typed:${account}:answers-${page.dataset.checklist}-`;
  const key = START + random();
  let isKept = Boolean(account);
  const waiting = [];
  try {
    for (const key of Object.keys(localStorage).filter((name) => name.startsWith(START))) {
      waiting.push(...(JSON.parse(localStorage.getItem(key))?.answers || []));
      localStorage.removeItem(key);
    }
  } catch {
    isKept = false;
  }
  const keep = () => {
    if (!isKept) return;
    try {
      if (waiting.length && Date.now() < endOfSession()) localStorage.setItem(key, JSON.stringify({ end: endOfSession(), fields: {}, answers: waiting }));
      else localStorage.removeItem(key);
    } catch {
      isKept = false;
    }
  };

  // --- The present answer to each question --------------------------------------------------------------------------

  const storedAnswers = new Map(questions.map((card) => [card.dataset.question, {
    response: card.querySelector("[name=seen_response]").value,
    comment: card.querySelector("[name=seen_comment]").value,
  }]));
  // A page that was opened without a connection shows older answers than those that were sent from it since.
  const knownKey = `larder-typed:${account}:known-${page.dataset.checklist}`;
  const know = (answers) => { for (const [id, now] of Object.entries(answers)) if (storedAnswers.has(id)) storedAnswers.set(id, now); };
  try {
    const draft = JSON.parse(localStorage.getItem(knownKey));
    if (draft?.at > Number(page.dataset.at)) know(draft.answers);
    else localStorage.removeItem(knownKey);
  } catch {
    // Without local storage there are no earlier answers.
  }
  const same = (one, two) => one.response === two.response && one.comment.trim() === two.comment.trim();
  const lastOf = (id) => waiting.findLast((entry) => entry.finding === id && !entry.conflict && !entry.refused);
  const answerTo = (id) => lastOf(id)?.answer || storedAnswers.get(id);
  const isAnswered = (id) => Boolean(isRated ? answerTo(id).response : answerTo(id).comment.trim());
  const nameOf = (card, response) => [...card.querySelectorAll(".responses button")].find((one) => one.value === response)?.textContent || say("no response");

  const show = (card) => {
    const id = card.dataset.question;
    const now = answerTo(id);
    for (const button of card.querySelectorAll(".responses button")) button.setAttribute("aria-pressed", String(button.value === now.response));
    const back = card.querySelector("[data-take-back]");
    if (back) back.hidden = !now.response;
    const comment = card.querySelector("[name=comment]");
    if (comment !== document.activeElement) comment.value = now.comment;
    const notice = card.querySelector("[data-conflict]");
    const entry = waiting.find((one) => one.finding === id && one.conflict);
    notice.hidden = !entry;
    if (entry && notice.dataset.shown !== JSON.stringify(entry)) {
      notice.dataset.shown = JSON.stringify(entry);
      const textOf = (answer) => answer.comment
        ? say("“%(answer)s” with the comment “%(comment)s”", { answer: nameOf(card, answer.response), comment: answer.comment })
        : say("“%(answer)s”", { answer: nameOf(card, answer.response) });
      const keepTheirs = element("button", { type: "button", textContent: say("Keep that answer") });
      const keepMine = element("button", { type: "button", textContent: say("Use my answer") });
      keepTheirs.addEventListener("click", () => settle(card, entry, false));
      keepMine.addEventListener("click", () => settle(card, entry, true));
      notice.replaceChildren(
        element("p", { textContent: [
          entry.conflict.at
            ? say("%(who)s answered %(answer)s at %(at)s.", { who: entry.conflict.who, answer: textOf(entry.conflict), at: entry.conflict.at })
            : say("%(who)s answered %(answer)s.", { who: entry.conflict.who, answer: textOf(entry.conflict) }),
          say("Your answer %(answer)s was not saved.", { answer: textOf(entry.answer) }),
        ].join(" ") }),
        keepTheirs, " ", keepMine,
      );
    }
  };
  const settle = (card, entry, useMine) => {
    waiting.splice(waiting.indexOf(entry), 1);
    if (useMine) waiting.push({ finding: entry.finding, seen: storedAnswers.get(entry.finding), answer: entry.answer });
    keep();
    showAll();
    card.querySelector("h2").focus();
    send();
  };

  let trouble = "";
  const unsentPhotos = new Set();
  const showAll = () => {
    for (const card of questions) show(card);
    const answered = questions.filter((card) => isAnswered(card.dataset.question)).length;
    part("bar").value = answered;
    part("count").textContent = say("%(answered)s of %(cards)s answered", { answered, cards: questions.length });
    const open = questions.filter((card) => !isAnswered(card.dataset.question));
    const refused = waiting.filter((entry) => entry.refused);
    const conflicts = waiting.filter((entry) => entry.conflict);
    const unsent = new Set(waiting.filter((entry) => !entry.refused && !entry.conflict).map((entry) => entry.finding)).size;
    const many = (count, one, several) => say(count === 1 ? one : several, { count });
    const lines = [];
    if (unsent && trouble) lines.push(`${many(unsent, say("%(count)s answer waits for the connection."), say("%(count)s answers wait for the connection."))} ${trouble}`);
    else if (unsent) lines.push(say("Saving…"));
    if (conflicts.length) lines.push(many(conflicts.length, say("%(count)s question was answered by somebody else meanwhile."), say("%(count)s questions were answered by somebody else meanwhile.")));
    if (refused.length) lines.push(many(refused.length, say("%(count)s answer could not be saved: see below the question."), say("%(count)s answers could not be saved: see below the question.")));
    if (unsent && !isKept) lines.push(say("This browser keeps nothing: leave the page open until they are sent."));
    if (unsentPhotos.size) lines.push(many(unsentPhotos.size, say("%(count)s photo was not sent: leave the page open until the connection is back."), say("%(count)s photos were not sent: leave the page open until the connection is back.")));
    part("state").textContent = lines.join(" ") || say("All answers are saved.");
    part("state").classList.toggle("is-waiting", Boolean(waiting.length || unsentPhotos.size));
    part("refused").hidden = !refused.length;
    part("refused").replaceChildren(...refused.map((entry) => {
      const card = questions.find((one) => one.dataset.question === entry.finding);
      const row = element("li", { textContent: `${card ? card.querySelector("h2").textContent.trim() : say("A question")}: ${entry.refused} ` });
      const drop = element("button", { type: "button", className: "plain", textContent: say("Discard this answer") });
      drop.addEventListener("click", () => { waiting.splice(waiting.indexOf(entry), 1); keep(); showAll(); });
      row.append(drop);
      return row;
    }));
    const submit = part("submit-audit");
    submit.hidden = Boolean((isRated && open.length) || waiting.length);
    const links = open.map((card) => {
      const row = element("li");
      row.append(element("a", { href: `#${card.id}`, textContent: card.querySelector("h2").textContent.trim() }));
      return row;
    });
    const list = element("ul");
    list.append(...links);
    part("open").replaceChildren(...(open.length ? [element("p", { textContent: say("Still to be answered:") }), list] : [element("p", { textContent: say("Every question is answered.") })]));
  };

  const answer = (card, change) => {
    const id = card.dataset.question;
    const last = lastOf(id);
    const before = answerTo(id);
    const answer = { response: change.response ?? before.response, comment: change.comment ?? card.querySelector("[name=comment]").value };
    if (same(answer, before)) return;
    // An answer whose sending was tried may have arrived although the reply was lost, so it is not changed.
    if (last && !last.tried) {
      last.answer = answer;
      if (same(answer, last.seen)) waiting.splice(waiting.indexOf(last), 1);
    } else waiting.push({ finding: id, seen: before, answer });
    keep();
    showAll();
    send();
  };

  // --- Sending, in order, one at a time -----------------------------------------------------------------------------

  let isSending = false;
  let later;
  const post = async (entry, isAgain = false) => {
    const data = new FormData();
    const fields = { csrfmiddlewaretoken: tokenNow(), finding: entry.finding, response: entry.answer.response, comment: entry.answer.comment, seen_response: entry.seen.response, seen_comment: entry.seen.comment };
    for (const [name, value] of Object.entries(fields)) data.append(name, value);
    const reply = await fetch(page.dataset.answer, { method: "POST", body: data, headers: { Accept: "application/json" }, redirect: "manual" });
    if (reply.type === "opaqueredirect" || reply.status === 403) {
      if (!isAgain && (await window.larderRenew())) return post(entry, true);
      if (isAgain) throw new Error(say("Reload the page to send them."));
      throw new Error(say("You are signed out: sign in again in another tab and leave this page open. Sending goes on then."));
    }
    if (reply.status === 429 || reply.status >= 500) throw new TypeError(String(reply.status));
    return { status: reply.status, body: await reply.json() };
  };
  const take = (entry, { status, body }) => {
    if (status === 200) {
      waiting.splice(waiting.indexOf(entry), 1);
      know(body.answers);
      if (isKept) localStorage.setItem(knownKey, JSON.stringify({ end: endOfSession(), fields: {}, at: body.at, answers: body.answers }));
    } else if (body.conflict) {
      storedAnswers.set(entry.finding, { response: body.conflict.response, comment: body.conflict.comment });
      entry.conflict = body.conflict;
      // Later answers to this question wait for the same decision of the person.
      for (const next of waiting.filter((one) => one.finding === entry.finding && one !== entry && !one.refused)) {
        entry.answer = next.answer;
        waiting.splice(waiting.indexOf(next), 1);
      }
    } else entry.refused = (body.faults || [say("It could not be saved. Try again.")]).join(" ");
  };
  const send = async () => {
    if (isSending) return;
    isSending = true;
    clearTimeout(later);
    for (let entry; (entry = waiting.find((one) => !one.conflict && !one.refused));) {
      try {
        entry.tried = true;
        keep();
        const reply = await post(entry);
        trouble = "";
        take(entry, reply);
      } catch (error) {
        trouble = error instanceof TypeError || error instanceof SyntaxError ? say("Sending goes on when it is back.") : error.message;
        later = setTimeout(send, 10000);
        break;
      } finally {
        keep();
        showAll();
      }
    }
    isSending = false;
  };
  window.addEventListener("online", () => {
    send();
    for (const attempt of [...unsentPhotos]) attempt();
  });

  // --- One question at a time ---------------------------------------------------------------------------------------

  let place = 0;
  const go = (target, withFocus) => {
    place = Math.min(Math.max(target, 0), cards.length - 1);
    cards.forEach((card, index) => (card.hidden = index !== place));
    part("previous").disabled = place === 0;
    part("next").hidden = place === cards.length - 1;
    part("next").textContent = place === cards.length - 2 ? say("Finish") : say("Next");
    history.replaceState(null, "", `#${cards[place].id}`);
    if (withFocus) {
      window.scrollTo(0, 0);
      cards[place].querySelector("h2").focus({ preventScroll: true });
    }
  };
  const fromHash = (withFocus) => {
    const index = cards.findIndex((card) => `#${card.id}` === location.hash);
    const open = cards.findIndex((card) => card.dataset.question && !isAnswered(card.dataset.question));
    go(index >= 0 ? index : open >= 0 ? open : cards.length - 1, withFocus);
  };
  part("steps").hidden = false;
  part("previous").addEventListener("click", () => go(place - 1, true));
  part("next").addEventListener("click", () => go(place + 1, true));
  window.addEventListener("hashchange", () => fromHash(true));
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, textarea, select") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowRight") go(place + 1, true);
    else if (event.key === "ArrowLeft") go(place - 1, true);
  });

  for (const card of questions) {
    const form = card.querySelector("form");
    card.querySelector("[data-keep]").hidden = true;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (event.submitter && !("keep" in event.submitter.dataset)) answer(card, { response: event.submitter.value });
      else answer(card, {});
    });
    const comment = form.querySelector("[name=comment]");
    let typing;
    const takeComment = () => { clearTimeout(typing); typing = 0; answer(card, {}); };
    comment.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(takeComment, 1500); });
    comment.addEventListener("change", takeComment);
    // No change event is sent if the person goes back or closes the page while the field has the focus.
    window.addEventListener("pagehide", () => { if (typing) takeComment(); });
    const uploads = card.querySelector("[data-uploads]");
    const input = card.querySelector("[data-photo]");
    input.addEventListener("change", () => { for (const file of input.files) attach(card, uploads, file); input.value = ""; });
  }
  const attach = (card, uploads, file) => {
    const row = element("li", { textContent: `${file.name} ` });
    const bar = element("progress", { max: 100, value: 0 });
    bar.setAttribute("aria-label", file.name);
    const status = element("span");
    status.setAttribute("role", "status");
    const again = element("button", { type: "button", className: "plain", textContent: say("Send again"), hidden: true });
    row.append(bar, " ", status, " ", again);
    uploads.append(row);
    const fields = { finding: card.dataset.question, once: random() };
    const attempt = async () => {
      unsentPhotos.delete(attempt);
      again.hidden = true;
      bar.hidden = false;
      status.textContent = "";
      const reply = await window.larderSendFile(page.dataset.attach, { ...fields, csrfmiddlewaretoken: tokenNow() }, file, (percent) => (bar.value = percent));
      bar.hidden = true;
      again.hidden = !reply.lost;
      if (reply.lost) unsentPhotos.add(attempt);
      showAll();
      status.textContent = reply.added?.length ? say("is attached.") : (reply.faults || []).join(" ");
    };
    again.addEventListener("click", attempt);
    attempt();
  };
  const signOut = document.querySelector('form[action$="/logout/"]');
  if (signOut) signOut.addEventListener("submit", (event) => {
    if (waiting.length && !window.confirm(say("Answers still wait for the connection. Signing out removes them from this browser. Sign out?"))) event.preventDefault();
  });
  window.addEventListener("beforeunload", (event) => { if ((waiting.length && !isKept) || unsentPhotos.size) event.preventDefault(); });

  // --- Opening the page again without a connection ----------------------------------------------------------------------

  const tellWhetherItOpens = (isReady) => {
    part("offline").textContent = isReady
      ? say("This browser keeps the checklist, and answers that were not sent, until you sign out, at most until %(end)s. Until then it can be opened again here without a connection.", { end: new Date(endOfSession()).toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "short" }) })
      : say("Without a connection you can go on answering, but leave this page open: this browser cannot open it again.");
    part("offline").hidden = false;
  };
  const prepare = async () => {
    await navigator.serviceWorker.register(page.dataset.worker);
    const patience = new Promise((resolve) => setTimeout(resolve, 30000)); // A worker that cannot be installed is never ready.
    await Promise.race([navigator.serviceWorker.ready, patience]);
    return (await caches.keys()).some((name) => name.startsWith(`larder-page:${account}:`) && name.endsWith(`:${location.pathname}`));
  };
  if (isKept && "serviceWorker" in navigator) prepare().then(tellWhetherItOpens, () => tellWhetherItOpens(false));
  else tellWhetherItOpens(false);

  keep();
  showAll();
  fromHash(false);
  send();
})();
