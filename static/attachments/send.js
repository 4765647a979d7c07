// Sends one file to a record's attachments and reports the progress. The result is always an object: what was added,
// what is wrong, and whether the connection was lost. If it was, the same file can be sent again under the same id.
"use strict";
window.larderSendFile = (address, fields, file, progress, isAgain = false) =>
  new Promise((resolve) => {
    const data = new FormData();
    for (const [name, value] of Object.entries(fields)) data.append(name, value);
    data.append("files", file);
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress((100 * event.loaded) / event.total);
    });
    request.addEventListener("load", async () => {
      try {
        resolve(JSON.parse(request.responseText));
      } catch {
        const token = !isAgain && (await window.larderRenew().catch(() => null));
        if (token) resolve(window.larderSendFile(address, { ...fields, csrfmiddlewaretoken: token }, file, progress, true));
        else resolve({ lost: true, faults: [window.larderSay("%(name)s: It could not be attached. If you are signed out, sign in again in another tab; then send it again.", { name: file.name })] });
      }
    });
    request.addEventListener("error", () => resolve({ lost: true, faults: [window.larderSay("%(name)s: The connection was lost. Try again.", { name: file.name })] }));
    request.send(data);
  });
