// The service worker of one audit's checklist: lets its page be opened again while there is no connection.
// Its address limits it to that page. It caches the page, and the scripts and styles that the page loads, and uses them
// only when the network does not answer. The name of the cache contains the account and the end of the session, so that
// static/backoffice/typed.js can remove it when the session ends, on sign-out, and when somebody else signs in.
"use strict";
const PAGE = new URL("./", self.location).pathname;
const PREFIX = "larder-page:";
const PATIENCE = 6000; // milliseconds before a weak connection counts as none

const names = async () => (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name.endsWith(`:${PAGE}`));
const forget = async (except) => Promise.all((await names()).filter((name) => name !== except).map((name) => caches.delete(name)));
const keptCopy = async (address) => {
  for (const name of await names()) {
    const copy = Number(name.split(":")[2]) > Date.now() && (await (await caches.open(name)).match(address));
    if (copy) return copy;
  }
  return undefined;
};

const keep = async (response) => {
  const text = await response.text();
  const account = /data-account="([^":]+)"/.exec(text)?.[1];
  const end = /data-session-end="(\d+)"/.exec(text)?.[1];
  if (!response.ok || !account || !end || !text.includes("data-checklist=")) return forget();
  const name = `${PREFIX}${account}:${end}:${PAGE}`;
  const cache = await caches.open(name);
  const assets = [...text.matchAll(/(?:src|href)="([^"]+\.(?:js|css|svg))"/g)].map((match) => match[1]);
  await cache.addAll([...new Set(assets)]);
  // The page is cached last, so that it is there only with all that it needs; with its headers, such as the content policy.
  const headers = new Headers(response.headers);
  for (const header of ["Content-Encoding", "Content-Length"]) headers.delete(header);
  await cache.put(PAGE, new Response(text, { headers }));
  return forget(name);
};

// A server that is down, or a connection so weak that no answer comes in time, counts as no connection.
const fromNetwork = async (answer, address) => {
  const afterPatience = new Promise((resolve) => setTimeout(async () => { const copy = await keptCopy(address); if (copy) resolve(copy); }, PATIENCE));
  try {
    const response = await Promise.race([answer, afterPatience]);
    return (response.status >= 500 && (await keptCopy(address))) || response;
  } catch (error) {
    const copy = await keptCopy(address);
    if (copy) return copy;
    throw error;
  }
};
const refresh = async (answer) => {
  try {
    const response = await answer;
    if (response.ok) await keep(response.clone());
    else if (response.status < 500) await forget(); // The audit is handed in, or nobody is signed in any more.
  } catch {
    // Without a connection, the cache stays as it is.
  }
};

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(fetch(PAGE, { redirect: "manual" }).then(keep));
});
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  const isPage = request.mode === "navigate" && pathname === PAGE;
  if (!isPage && !["script", "style", "image"].includes(request.destination)) return;
  const answer = fetch(request);
  if (isPage) event.waitUntil(refresh(answer));
  event.respondWith(fromNetwork(answer, isPage ? PAGE : request.url));
});
