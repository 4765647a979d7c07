// The texts of scripts in the language of the page, which carries them in <html data-words>; without it they are English.
"use strict";
window.larderSay = (text, values = {}) => {
  const words = JSON.parse(document.documentElement.dataset.words || "{}");
  return (words[text] || text).replace(/%\((\w+)\)s/g, (whole, name) => (name in values ? values[name] : whole));
};
