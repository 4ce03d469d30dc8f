/* The little that htmx and plain HTML do not do.  Every page works without this file. */
"use strict";

document.documentElement.classList.add("script");

/* Times are shown and typed as the clocks here show them; without this, in UTC. */
document.cookie = "ses_webface_zone=" + Intl.DateTimeFormat().resolvedOptions().timeZone
  + "; path=/; max-age=31536000; SameSite=Lax" + (location.protocol === "https:" ? "; Secure" : "");

/* A select that shows another view submits its form; its button is for pages without script. */
for (const select of document.querySelectorAll("[data-submit-on-change]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

/* A message that must be read first takes the focus. */
document.querySelector("[data-focus]")?.focus();

/* Parts that keep themselves fresh while their switch is on and the page can be seen. */
for (const part of document.querySelectorAll("[data-refresh-seconds]")) {
  const control = document.getElementById(part.dataset.refreshSwitch);
  window.setInterval(() => {
    if (control.checked && !document.hidden && !part.contains(document.activeElement)) {
      part.dispatchEvent(new CustomEvent("refresh"));
    }
  }, 1000 * Number(part.dataset.refreshSeconds));
}

/* The portal itself does not answer: say so where the ranking would be, keep what was typed. */
document.addEventListener("htmx:sendError", (event) => {
  const message = document.createElement("p");
  message.className = "notice bad";
  message.setAttribute("role", "alert");
  message.textContent = "The portal does not answer. What you typed is still here.";
  event.detail.target.replaceChildren(message);
});

/* Leaving a form with unsaved changes asks first. */
for (const form of document.querySelectorAll("form[data-keep]")) {
  let changed = form.dataset.keep === "changed";
  form.addEventListener("input", () => { changed = true; });
  form.addEventListener("submit", () => { changed = false; });
  window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
}
