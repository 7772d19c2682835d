// Wake every part of the page, then say that it is ready.
widgets.copy = (button) => {
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // where a page may not write the clipboard
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
};

function wakeCards() {
  const cards = [...document.querySelectorAll("button[data-head]")];
  cards.forEach((card) => card.addEventListener("click", () => select(card.dataset.head)));
  whenSelected((head) => cards.forEach((card) => card.setAttribute("aria-pressed", String(card.dataset.head === head.name))));
}

async function start() {
  wakeCards();
  const places = [...document.querySelectorAll("[data-widget]")];
  await Promise.all(places.map((place) => widgets[place.dataset.widget](place)));
  await Promise.all(queues.values());
  offerFiles();
  openAddress(); // when everything above has its height
  document.documentElement.dataset.ready = "true";
}

start();
