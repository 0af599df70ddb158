// What to fetch, how fresh the page is, the tab's title, and the theme. The regions fetch themselves.
"use strict";

// The board's own socket tells the revision; on a page without a board the home's does.
const line = document.getElementById("board-line") || document.getElementById("home-line");
const PATIENCE = 3000;

const fresh = document.getElementById("fresh");
let seen = 0; // when the socket last proved that it lives
let lost = Date.now(); // since when it is gone; 0 while it is there
let unreachable = false; // the store, not the server
let out = false; // this browser's session is over

function show(tone, dot, words) {
  fresh.className = `chip ${tone}`;
  fresh.firstElementChild.className = `dot ${dot}`;
  const word = fresh.lastElementChild;
  if (word.textContent !== words) word.textContent = words;
}

function tell() {
  if (!fresh) return;
  const gone = lost ? Date.now() - lost : 0;
  if (out) show("bad", "fail", "Logged out: run agentlink open");
  else if (unreachable) show("bad", "fail", "Read-only: the store cannot be reached");
  else if (!lost) show("ok", "run", `Live · revision ${fresh.dataset.revision}`);
  else if (gone > PATIENCE) {
    const since = seen ? `, last seen ${Math.round((Date.now() - seen) / 1000)} s ago` : "";
    show("warn", "stale", `Reconnecting${since}`);
  }
}

line?.addEventListener(line.dataset.open, () => {
  lost = 0;
  seen = Date.now();
  tell();
});
line?.addEventListener(line.dataset.closed, () => {
  if (!lost) lost = seen = Date.now();
  tell();
});
line?.addEventListener(line.dataset.message, (event) => {
  lost = 0;
  seen = Date.now();
  const frame = event.detail.message.json;
  if (frame?.revision) fresh.dataset.revision = frame.revision; // told when what it brings is here
});
document.addEventListener("htmx:after:request", (event) => {
  const status = event.detail.ctx.response.status;
  out = status === 401;
  if (status === 503) unreachable = true;
  else if (status < 500) unreachable = false;
  tell();
});
setInterval(tell, 1000);

// A frame names the regions that look different now. The server makes one text after another, so the board's come
// first, and of those the first at once.
const PACE = 40;
const LATER = 80;
for (const bell of document.querySelectorAll(".line")) {
  bell.addEventListener(bell.dataset.message, (event) => {
    const named = event.detail.message.json?.regions || [];
    const here = named.filter((name) => document.getElementById(`region-${name}`));
    here.forEach((name, place) => {
      const wait = place * PACE + (bell === line ? 0 : LATER);
      const fetches = () => bell.dispatchEvent(new Event(`region:${name}`));
      if (wait) setTimeout(fetches, wait); else fetches();
    });
  });
}

const plain = document.title;
function retitle() {
  const count = Number(document.getElementById("region-count")?.dataset.needs || 0);
  const head = document.getElementById("region-head");
  const title = head ? `${head.dataset.title} · AgentLink` : plain;
  document.title = count ? `(${count}) ${title}` : title;
}
document.addEventListener("htmx:after:swap", retitle);
retitle();

document.getElementById("theme")?.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = getComputedStyle(root).colorScheme === "dark"
    || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  const next = dark ? "light" : "dark";
  root.classList.remove("light", "dark");
  root.classList.add(next);
  document.cookie = `agentlink_theme=${next}; path=/; max-age=31536000; samesite=strict`;
});
