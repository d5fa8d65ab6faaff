// Planes of a volume or frames of a clip: a slider for each view, and a button that plays frames.
"use strict";
(() => {
  const element = document.getElementById("planes-data");
  if (!element) return;
  const views = JSON.parse(element.textContent);
  document.querySelectorAll(".planes").forEach((figure, number) => show(figure, views[number]));

  function show(figure, view) {
    const [before, after] = [".before-plane", ".after-plane"].map((name) => figure.querySelector(name));
    const slider = figure.querySelector(".plane-slider"), said = figure.querySelector("output");
    const play = figure.querySelector(".play");
    let timer = null;

    function update() {
      const k = Number(slider.value);
      before.src = view.before[k];
      after.src = view.after[k];
      said.textContent = `${view.label} ${view.places[k]} of ${view.total}`;
      slider.setAttribute("aria-valuetext", said.textContent);
    }

    function stop() {
      clearInterval(timer);
      timer = null;
      if (play) { play.textContent = "Play"; play.setAttribute("aria-pressed", "false"); }
    }

    function start() {
      play.textContent = "Stop";
      play.setAttribute("aria-pressed", "true");
      timer = setInterval(() => {
        slider.value = (Number(slider.value) + 1) % view.places.length;
        update();
      }, 80);
    }

    slider.addEventListener("input", () => { stop(); update(); });
    if (play) play.addEventListener("click", () => (timer === null ? start() : stop()));
    update();
  }
})();
