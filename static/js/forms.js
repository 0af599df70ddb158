// Forms: one key per wish, drafts that survive a reload, Ctrl+Enter, and nothing typed is ever lost by a refusal.
"use strict";

const SETTLED = ["applied", "already_applied"];

function keyOf(form) {
  return form.elements.namedItem("key");
}

// A wish keeps its key until it is settled, so that trying again never does it twice.
document.addEventListener("htmx:config:request", (event) => {
  const form = event.detail.ctx.sourceElement;
  if (!form.matches("form") || !keyOf(form)) return;
  keyOf(form).value ||= `panel-${crypto.randomUUID()}`;
  event.detail.ctx.request.body.set("key", keyOf(form).value);
});

document.addEventListener("htmx:after:request", (event) => {
  const { sourceElement: form, response } = event.detail.ctx;
  if (!form.matches("form")) return;
  const outcome = response.headers.get("AgentLink-Outcome");
  if (outcome === null) report(form, "The server did not take it; what you typed is still here. Reload the page and try again.");
  if (response.headers.get("AgentLink-Code") === "key_reused") keyOf(form).value = "";
  if (SETTLED.includes(outcome)) settle(form);
});

document.addEventListener("htmx:error", (event) => {
  const form = event.detail.ctx?.sourceElement;
  if (form?.matches("form")) report(form, "The server did not answer. Nothing you typed is lost; try again, it will not be done twice.");
});

function report(form, sentence) {
  const place = document.querySelector(form.getAttribute("hx-target"));
  if (!place) return;
  const line = document.createElement("span");
  line.className = "receipt failed";
  line.setAttribute("role", "alert");
  line.textContent = sentence;
  place.replaceChildren(line);
}

function settle(form) {
  const kept = ["to", "contractId", "type", "priority"].map((name) => form.elements.namedItem(name));
  const values = kept.map((field) => field?.value);
  form.reset();
  kept.forEach((field, place) => { if (field) field.value = values[place]; });
  keyOf(form).value = "";
  form.elements.namedItem("replyTo")?.closest(".replying").remove();
  if (form.dataset.draft) localStorage.removeItem(form.dataset.draft);
  const opened = form.closest("details.act");
  if (opened) opened.open = false;
}

// --- drafts ---------------------------------------------------------------------------------------------------------

function keep(form) {
  const fields = [...form.elements].filter((field) => field.id && field.type !== "hidden");
  const draft = fields.map((field) => [field.id, field.type === "checkbox" ? field.checked : field.value]);
  localStorage.setItem(form.dataset.draft, JSON.stringify(draft));
}

function restore(form) {
  let draft = [];
  try { draft = JSON.parse(localStorage.getItem(form.dataset.draft)) || []; } catch { return; }
  for (const [id, value] of draft) {
    const field = document.getElementById(id);
    if (!field || field.form !== form) continue;
    if (field.type === "checkbox") field.checked = value;
    else if (field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value)) field.value = value;
  }
}

for (const form of document.querySelectorAll("form[data-draft]")) {
  restore(form);
  const to = form.elements.namedItem("to");
  if (form.dataset.prefer && to) to.value = form.dataset.prefer;
  form.addEventListener("input", () => keep(form));
}

// --- keys and counts ------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("textarea, input, select, [popover]");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form) {
    event.preventDefault();
    event.target.form.requestSubmit();
  } else if (event.key === "c" && !writing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const message = document.getElementById("composer-content");
    if (message) { event.preventDefault(); message.focus(); }
  }
});

// Types that ask for an acknowledgement by themselves; the person may still say otherwise.
document.getElementById("composer-type")?.addEventListener("change", (event) => {
  const box = event.target.form.elements.namedItem("requiresAck");
  box.checked = event.target.selectedOptions[0].hasAttribute("data-acked");
});

for (const button of document.querySelectorAll("button[data-counts]")) {
  const count = () => {
    const chosen = button.form.querySelectorAll(`input[name="${button.dataset.counts}"]:checked`).length;
    button.disabled = chosen === 0;
    button.textContent = chosen === 1 ? button.dataset.one : button.dataset.many.replace("#", chosen);
  };
  button.form.addEventListener("change", count);
  count();
}
