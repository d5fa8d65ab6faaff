// One zoom for all images: the place in the middle of the frames, and how large a pixel is.
"use strict";
(() => {
  const root = document.documentElement, panes = document.querySelector(".panes");
  const frames = [...panes.querySelectorAll(".frame")], first = frames[0].querySelector("img");
  const zooms = [...document.querySelectorAll("[name=zoom]")];
  const [wide, tall] = ["width", "height"].map((side) => Number(first.getAttribute(side))); // not as laid out so far
  const held = new Map(); // pointers that are down, with their last places
  const most = 32;
  let scale = 1, x = wide / 2, y = tall / 2; // the pixel in the middle
  root.classList.add("live");
  panes.style.setProperty("--aspect", `${wide} / ${tall}`);

  const fit = () => Math.min(frames[0].clientWidth / wide, frames[0].clientHeight / tall);

  function show() {
    scale = Math.min(most, Math.max(fit(), scale));
    const across = frames[0].clientWidth / scale / 2, down = frames[0].clientHeight / scale / 2;
    x = 2 * across >= wide ? wide / 2 : Math.min(wide - across, Math.max(across, x));
    y = 2 * down >= tall ? tall / 2 : Math.min(tall - down, Math.max(down, y));
    panes.style.setProperty("--scale", scale);
    panes.style.setProperty("--x", `${(across - x) * scale}px`);
    panes.style.setProperty("--y", `${(down - y) * scale}px`);
    panes.classList.toggle("sharply", scale > 1);
    for (const one of zooms) one.checked = one.value === "fit" ? scale <= fit() : Math.abs(Number(one.value) - scale) < 1e-6;
  }

  // Zooms so that the pixel under the pointer stays where it is.
  function zoom(to, event) {
    const now = Math.min(most, Math.max(fit(), to));
    if (event) {
      const box = event.currentTarget.getBoundingClientRect();
      const dx = event.clientX - box.left - box.width / 2, dy = event.clientY - box.top - box.height / 2;
      x += dx / scale - dx / now;
      y += dy / scale - dy / now;
    }
    scale = now;
    show();
  }

  function move(dx, dy) {
    x -= dx / scale;
    y -= dy / scale;
    show();
  }

  const apart = ([a, b]) => Math.hypot(a.x - b.x, a.y - b.y);

  function drag(event) {
    const before = held.get(event.pointerId);
    if (!before) return;
    const pair = held.size === 2 ? apart([...held.values()]) : 0;
    held.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (pair > 0) zoom((scale * apart([...held.values()])) / pair, event);
    else move(event.clientX - before.x, event.clientY - before.y);
  }

  const keys = {
    ArrowLeft: () => move(40, 0), ArrowRight: () => move(-40, 0), ArrowUp: () => move(0, 40), ArrowDown: () => move(0, -40),
    "+": () => zoom(1.5 * scale), "=": () => zoom(1.5 * scale), "-": () => zoom(scale / 1.5), 0: () => zoom(0),
  };

  for (const frame of frames) {
    frame.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(scale * Math.exp(-event.deltaY / 300), event);
    }, { passive: false });
    frame.addEventListener("pointerdown", (event) => {
      frame.setPointerCapture(event.pointerId);
      held.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    frame.addEventListener("pointermove", drag);
    for (const name of ["pointerup", "pointercancel"]) frame.addEventListener(name, (event) => held.delete(event.pointerId));
    frame.addEventListener("dblclick", (event) => zoom(scale > fit() * 1.01 ? 0 : Math.max(4, 4 * fit()), event));
    frame.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
  for (const one of zooms) one.addEventListener("change", () => zoom(one.value === "fit" ? 0 : Number(one.value)));
  for (const one of document.querySelectorAll("[name=shown]"))
    one.addEventListener("change", () => panes.classList.toggle("difference", one.value === "removed" && one.checked));
  addEventListener("resize", () => zoom(zooms[0].checked ? 0 : scale));
  zoom(0);
})();
