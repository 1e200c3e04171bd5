// What a page can do besides being read: fold and unfold, go to the next violation, filter the rows of a bundle's list.
// Without it everything can be read all the same.
(() => {
  "use strict";

  const unfold = (place) => {
    for (let around = place; around; around = around.parentElement) {
      if (around instanceof HTMLDetailsElement) around.open = true;
    }
  };

  const tools = document.querySelector(".tools");
  if (tools) {
    tools.hidden = false;
    for (const button of tools.querySelectorAll("[data-fold]")) {
      button.addEventListener("click", () => {
        for (const one of document.querySelectorAll("details")) one.open = button.dataset.fold === "open";
      });
    }
    const violations = [...document.querySelectorAll("tr.violation, tr.breach, article.breach")];
    const next = tools.querySelector("[data-next]");
    if (!violations.length) next.remove();
    let place = -1;
    next.addEventListener("click", () => {
      violations[place]?.classList.remove("current");
      place = (place + 1) % violations.length;
      violations[place].classList.add("current");
      unfold(violations[place]);
      violations[place].tabIndex = -1;
      violations[place].focus({ preventScroll: true });
      violations[place].scrollIntoView({ block: "center" });
    });
  }

  // a link into something folded unfolds it
  const arrive = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target) unfold(target);
  };
  addEventListener("hashchange", arrive);
  arrive();

  const form = document.querySelector("form[data-rows]");
  if (form) {
    form.hidden = false;
    const rows = [...document.querySelectorAll(`#${form.dataset.rows} tbody tr`)];
    const count = document.getElementById("count");
    const asked = new URLSearchParams(location.search);
    const choices = [...form.querySelectorAll("select")];
    for (const choice of choices) {
      const value = asked.get(choice.name);
      if (value && [...choice.options].some((option) => option.value === value)) choice.value = value;
    }
    const show = () => {
      const wanted = choices.filter((choice) => choice.value);
      let shown = 0;
      for (const row of rows) {
        row.hidden = !wanted.every((choice) => row.dataset[choice.name] === choice.value);
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = `${shown} of ${rows.length} episodes on this page.`;
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      show();
    });
    form.addEventListener("change", show);
    if (choices.some((choice) => choice.value)) show();
  }
})();
