"use strict";
// Asks every second whether this page has to be another one, and adds what is new in the chat. Without it, people reload.
const body = document.body;
const chat = document.getElementById("chat");
const say = document.getElementById("say");
const left = document.getElementById("left");
let seen = Number(body.dataset.seen);

function added(seat, text) {
  const line = document.createElement("li");
  const who = document.createElement("b");
  const words = document.createElement("span");
  const mine = seat === Number(body.dataset.me);
  who.textContent = `Person ${seat + 1}${mine ? " (you)" : ""}`;
  words.textContent = text;
  line.className = mine ? "mine" : "";
  line.append(who, words);
  chat.append(line);
  chat.scrollTop = chat.scrollHeight;
}

async function look() {
  try {
    const answer = await fetch(`${location.pathname}/state?seen=${seen}`);
    if (!answer.ok) return;
    const now = await answer.json();
    if (now.version !== body.dataset.version) {
      location.replace(location.pathname);
      return;
    }
    if (!chat) return;
    for (const [seat, text] of now.messages) added(seat, text);
    seen += now.messages.length;
    left.textContent = `${Math.floor(now.left_s / 60)}:${String(now.left_s % 60).padStart(2, "0")}`;
    if (say) say.elements.said.value = now.said;
  } catch {
    // the host is gone or busy: the next look tells
  }
}

async function sent(event) {
  if (event.submitter && event.submitter.value !== "say") return;
  event.preventDefault();
  const box = say.elements.text;
  if (!box.value.trim()) return;
  const fields = new URLSearchParams({ do: "say", said: say.elements.said.value, text: box.value });
  const answer = await fetch(location.pathname, { method: "POST", body: fields, redirect: "manual" });
  if (answer.type === "opaqueredirect") {
    box.value = "";
    await look();
  } else {
    location.replace(location.pathname);
  }
}

if (chat) chat.scrollTop = chat.scrollHeight;
if (say) {
  say.addEventListener("submit", sent);
  say.elements.text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      say.requestSubmit(say.querySelector("button"));
    }
  });
}
if (body.dataset.version && body.dataset.version !== "over told") setInterval(look, 1000);
