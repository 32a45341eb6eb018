// Tells the server what is looked at, and what was changed.
"use strict";
let revision = document.currentScript.dataset.revision;
const post = (path, body) => fetch(path, {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
});
const cards = [...document.querySelectorAll("section.card")];

// What is looked at: the card that fills most of the window, once it stays there for a moment.
const seen = new Map();
let told = "", waiting = 0, notes = false;
const tell = () => {
  const card = cards.reduce((a, b) => (seen.get(b) || 0) > (seen.get(a) || 0) ? b : a, cards[0]);
  if (!card) return;
  const view = {
    card: card.id, pane: notes ? "notes" : "cards", selected: String(getSelection()) !== "",
    width: innerWidth, height: innerHeight,
  };
  const now = JSON.stringify(view);
  if (now !== told) { told = now; post("view", view); }
};
const soon = () => { clearTimeout(waiting); waiting = setTimeout(tell, 500); };
const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) seen.set(entry.target, entry.intersectionRect.height);
  soon();
}, { threshold: [0, 0.25, 0.5, 0.75, 1] });
cards.forEach((card) => observer.observe(card));
addEventListener("resize", soon);
document.addEventListener("selectionchange", soon);

// The notes are a pane of their own: `n` shows and hides them.
document.addEventListener("keydown", (event) => {
  if (event.key !== "n" || document.activeElement.isContentEditable) return;
  notes = !notes;
  document.querySelectorAll(".notes").forEach((element) => { element.hidden = !notes; });
  soon();
});

// What was changed: headings and texts without markup.
const note = (text) => {
  const bar = document.createElement("p");
  bar.textContent = text;
  bar.style.cssText = "position:fixed;bottom:0;left:0;right:0;margin:0;padding:.6em;background:#b00;color:#fff";
  document.body.append(bar);
};
for (const card of cards) {
  const parts = [...card.querySelectorAll(":scope > h1, :scope > h2")].map((e) => [e, "heading", 0])
    .concat([...card.querySelectorAll(":scope > p")].map((e, index) => [e, "text", index]));
  for (const [element, part, index] of parts) {
    if (element.children.length) continue;
    element.contentEditable = "plaintext-only";
    let before = element.textContent;
    element.addEventListener("blur", async () => {
      const text = element.textContent;
      if (text === before) return;
      const answer = await post("edit", { card: card.id, part, index, text, revision });
      if (!answer.ok) { note((await answer.text()).trim()); element.textContent = before; return; }
      const done = await answer.json();
      revision = done.revision;
      before = text;
      if (done.untold) note(done.untold);
    });
  }
}

// Somebody else changed the deck: show it as it is, unless something is being written.
setInterval(async () => {
  const now = (await (await fetch("revision")).text()).trim();
  if (now.startsWith("sha256:") && now !== revision && !document.activeElement.isContentEditable) location.reload();
}, 2000);
