// The viewer of the report: a divider between the noisy and the denoised image, region, zoom, brightness and contrast.
"use strict";
(() => {
  document.documentElement.classList.add("live");
  document.querySelectorAll(".viewer").forEach(view);
  printUnfolded();

  function view(figure) {
    const [pane, compare, cut, brightness, contrast] =
      [".pane", ".compare", ".cut", ".brightness", ".contrast"].map((name) => figure.querySelector(name));
    const after = figure.querySelector(".after");
    const zooms = figure.querySelectorAll("[type=radio]");
    let drag = null; // what a pointer that is held down does
    let press = null; // the last one

    // How tall the picture may be: what is left of the first screen above the controls, if that is enough.
    function room() {
      const top = pane.getBoundingClientRect().top + scrollY;
      const controls = [".slide", ".toolbar"].map((name) => figure.querySelector(name).offsetHeight);
      const left = innerHeight - top - controls.reduce((sum, one) => sum + one, 24);
      return left > 0.4 * innerHeight ? left : 0.8 * innerHeight;
    }

    function zoom(place) {
      const chosen = [...zooms].find((one) => one.checked).value;
      const wide = after.naturalWidth, tall = after.naturalHeight;
      const box = compare.getBoundingClientRect(), frame = pane.getBoundingClientRect();
      // the place that was chosen, or the point in the middle of the pane
      const x = place?.x ?? (frame.left + pane.clientWidth / 2 - box.left) / box.width;
      const y = place?.y ?? (frame.top + pane.clientHeight / 2 - box.top) / box.height;
      const fit = Math.min(pane.offsetWidth / wide, room() / tall);
      const scale = chosen === "fit" ? fit : Number(chosen);
      compare.style.width = `${Math.floor(wide * scale)}px`;
      compare.style.height = `${Math.floor(tall * scale)}px`;
      compare.classList.toggle("pixels", scale > 1);
      pane.classList.toggle("zoomed", pane.scrollWidth > pane.clientWidth || pane.scrollHeight > pane.clientHeight);
      pane.scrollLeft = x * compare.offsetWidth - pane.clientWidth / 2; // stays there
      pane.scrollTop = y * compare.offsetHeight - pane.clientHeight / 2;
      divide();
    }

    // The visible part of the picture: its left edge and its width, in pixels of the screen.
    function visible() {
      const box = compare.getBoundingClientRect(), frame = pane.getBoundingClientRect();
      const left = Math.max(box.left, frame.left), right = Math.min(box.right, frame.left + pane.clientWidth);
      return { left, width: right - left, inside: left - box.left, whole: box.width };
    }

    // The slider counts within the visible part, so that the divider stays in view while the picture moves.
    function divide() {
      const { inside, width, whole } = visible();
      compare.style.setProperty("--cut", `${(100 * (inside + (cut.value / 100) * width)) / whole}%`);
      cut.setAttribute("aria-valuetext", `${cut.value} % noisy, ${100 - cut.value} % denoised`);
    }

    function moveDivider(event) {
      const { left, width } = visible();
      cut.value = Math.round((100 * (event.clientX - left)) / width);
      divide();
    }

    function pan(event) {
      pane.scrollLeft -= event.movementX;
      pane.scrollTop -= event.movementY;
    }

    function tone() {
      compare.style.setProperty("--brightness", 2 ** brightness.value);
      compare.style.setProperty("--contrast", 2 ** contrast.value);
    }

    function reset() {
      zooms[0].checked = true;
      cut.value = 50;
      brightness.value = contrast.value = 0;
      tone();
      zoom();
    }

    // A second press at the same place soon after the first: the browser's own double click is lost with the drag.
    function chosen(event) {
      const before = press;
      press = event;
      return before && event.timeStamp - before.timeStamp < 400 &&
        Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY) < 12;
    }

    function chooseRegion(event) {
      const box = compare.getBoundingClientRect();
      const next = zooms[0].checked ? "4" : "fit";
      [...zooms].find((one) => one.value === next).checked = true;
      zoom({ x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height });
    }

    compare.addEventListener("pointerdown", (event) => {
      if (chosen(event)) return chooseRegion(event);
      const zoomed = pane.classList.contains("zoomed");
      if (!zoomed || event.target.closest(".divider")) drag = moveDivider;
      else if (event.pointerType === "mouse") drag = pan; // fingers scroll by themselves
      else return;
      event.preventDefault(); // or the browser begins to drag the image itself
      compare.setPointerCapture(event.pointerId);
      if (drag === moveDivider) drag(event);
    });
    compare.addEventListener("pointermove", (event) => {
      if (drag && compare.hasPointerCapture(event.pointerId)) drag(event);
    });
    for (const name of ["pointerup", "pointercancel"]) compare.addEventListener(name, () => { drag = null; });
    cut.addEventListener("input", divide);
    pane.addEventListener("scroll", divide);
    zooms.forEach((one) => one.addEventListener("change", () => zoom()));
    for (const one of [brightness, contrast]) one.addEventListener("input", tone);
    figure.querySelector(".reset").addEventListener("click", reset);
    addEventListener("resize", () => zoom());
    after.decode().then(() => zoom(), () => zoom());
  }

  // Folded sections are printed, too.
  function printUnfolded() {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = [...document.querySelectorAll("details:not([open])")];
      opened.forEach((one) => { one.open = true; });
    });
    addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));
  }
})();
