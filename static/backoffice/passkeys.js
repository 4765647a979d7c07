// Says in words why a passkey could not be used; django-allauth's scripts do the rest.
"use strict";
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  const place = document.querySelector("[data-passkey-error]");
  if (!place) return;
  const reason = event.detail.exception?.name;
  place.textContent =
    reason === "SecurityError"
      ? window.larderSay("Passkeys work only at an address with https and a host name.")
      : reason === "InvalidStateError"
        ? window.larderSay("This device already has a passkey for your account.")
        : reason === "NotAllowedError" || reason === "AbortError"
          ? window.larderSay("The passkey was not used, because you cancelled or waited too long. Try again.")
          : window.larderSay("This page is out of date, or Larder does not answer. Open it again.");
  place.hidden = false;
});
