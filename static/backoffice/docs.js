// The page of the interface is light or dark as the system is; its library has the styles for both.
"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const show = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", show);
  show();
})();
