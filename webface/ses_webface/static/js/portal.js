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

/* Filters are folded where they would fill the screen. */
const narrow = window.matchMedia("(max-width: 48rem)");
const fold = () => {
  for (const part of document.querySelectorAll(".fold:not([data-keep-open])")) part.open = !narrow.matches;
};
narrow.addEventListener("change", fold);
fold();

/* A sentence that is shown can be taken, to be changed. */
for (const example of document.querySelectorAll("[data-sentence]")) {
  example.addEventListener("click", () => {
    const sentence = document.getElementById("sentence");
    sentence.value = example.dataset.sentence;
    sentence.focus();
  });
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

/* The portal itself does not answer: say so where the ranking would be, or above the map as it was. */
document.addEventListener("htmx:sendError", (event) => {
  const part = event.detail.target;
  const refreshed = "refreshSeconds" in part.dataset;
  const message = document.createElement("p");
  message.className = "notice bad unanswered";
  message.setAttribute("role", "alert");
  message.textContent = "The portal does not answer. "
    + (refreshed ? "Its last answer is shown; it is asked again." : "What you typed is still here.");
  if (!refreshed) part.replaceChildren(message);
  else if (!part.querySelector(".unanswered")) part.prepend(message);
});

/* Tables that were scrolled sideways stay so when their part is made anew. */
let scrolled = [];
const tablesOf = (event) => event.detail.target.querySelectorAll(".table-scroll");
document.addEventListener("htmx:beforeSwap", (event) => {
  scrolled = [...tablesOf(event)].map((table) => table.scrollLeft);
});
document.addEventListener("htmx:afterSwap", (event) => {
  tablesOf(event).forEach((table, place) => { table.scrollLeft = scrolled[place] ?? 0; });
});

/* A form is sent once, however often its button is pressed; the button shows that it was.  Who comes back to
   the page, or stays on it for long, may send it again. */
const forget = () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  for (const button of document.querySelectorAll("button[aria-busy]")) button.removeAttribute("aria-busy");
};
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
    event.submitter?.setAttribute("aria-busy", "true");
    window.setTimeout(forget, 10_000);
  });
}
window.addEventListener("pageshow", forget);

/* Leaving a form with unsaved changes asks first. */
for (const form of document.querySelectorAll("form[data-keep]")) {
  let changed = form.dataset.keep === "changed";
  form.addEventListener("input", () => { changed = true; });
  form.addEventListener("submit", () => { changed = false; });
  window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
}
