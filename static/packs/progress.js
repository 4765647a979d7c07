// While packs are being made, the list is loaded again every two seconds, for half an hour at most.
"use strict";
(() => {
  const list = document.querySelector("[data-packs]");
  const status = document.querySelector("[data-said]");
  if (!list || !list.hasAttribute("data-unfinished")) return;
  const until = Date.now() + 30 * 60 * 1000;
  const again = async () => {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("[data-packs]");
      if (!fresh) return;
      if (fresh.innerHTML !== list.innerHTML && !list.contains(document.activeElement)) list.innerHTML = fresh.innerHTML;
      const text = page.querySelector("[data-said]").textContent || window.larderSay("No pack is being made any more.");
      if (status.textContent !== text) status.textContent = text;
      if (!fresh.hasAttribute("data-unfinished") && fresh.innerHTML === list.innerHTML) return;
    } catch {
      return;
    }
    if (Date.now() < until) setTimeout(again, 2000);
  };
  setTimeout(again, 2000);
})();
