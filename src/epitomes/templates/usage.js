// The image beside its epitome: which windows code a patch, and which patches use a pixel.
"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  if (figures.usage) link(figures.usage);

  function link(usage) {
    const { rows, columns, patch, held, tiles } = usage;
    const numbers = unpacked(usage.numbers, usage.bytes);
    const windows = unpacked(usage.windows, 2); // epitome, top, left, height, width of each
    const nWindows = windows.length / 5;
    const said = document.getElementById("usage-said");
    const copy = document.querySelector("#whole .after").cloneNode();
    copy.classList.remove("after");
    document.getElementById("image-stage").prepend(copy);
    const image = stage("image-stage", figures.shape[0], figures.shape[1]);
    const epitome = stage("epitome-stage", usage.sheet[0], usage.sheet[1]);
    let here = { row: rows.length >> 1, column: columns.length >> 1 }; // the chosen patch, by its place in the grid
    let pixel = tileAt(...centre(tiles[0])); // the chosen pixel of the epitome
    let again = () => {}; // draws what is chosen, after the page changed its size

    const pointing = {
      image: (y, x) => showPatch(nearest(rows, y - patch[0] / 2), nearest(columns, x - patch[1] / 2)),
      epitome: (y, x) => { const found = tileAt(Math.floor(y), Math.floor(x)); if (found) showPixel(found); },
    };
    const moving = {
      image: (down, across) => showPatch(within(here.row + down, rows), within(here.column + across, columns)),
      epitome: (down, across) => showPixel(moved(down, across)),
    };
    listen(image, pointing.image, moving.image);
    listen(epitome, pointing.epitome, moving.epitome);
    addEventListener("resize", () => again());
    document.getElementById("epitome").addEventListener("toggle", () => again()); // folded, it had no size

    function showPatch(row, column) {
      here = { row, column };
      again = () => showPatch(row, column);
      const place = [rows[row], columns[column], ...patch];
      const chosen = windowsOf(row, column);
      image.light([place], [place]);
      const places = chosen.map(onSheet);
      epitome.light(places.flat(), places.flat());
      places.forEach((pieces, rank) => epitome.name(pieces[0], String(rank + 1)));
      const where = `Patch of ${patch[0]} x ${patch[1]} pixels at row ${place[0]}, column ${place[1]}: `;
      const told = chosen.map((number, rank) => {
        const [tile, top, left] = windows.subarray(5 * number);
        return `window ${rank + 1} at ${ofTile(tile)}row ${top}, column ${left}`;
      });
      say(where + (told.length ? `coded by ${told.join("; ")}.` : "flat, coded by its mean alone."));
    }

    function showPixel(found) {
      pixel = found;
      again = () => showPixel(found);
      const { tile, y, x } = found;
      const covers = new Uint8Array(nWindows + 1);
      for (let number = 0; number < nWindows; number++) {
        const [of, top, left, height, width] = windows.subarray(5 * number, 5 * number + 5);
        const down = (y - top + tiles[tile][2]) % tiles[tile][2]; // windows may run over the border of a torus
        const across = (x - left + tiles[tile][3]) % tiles[tile][3];
        covers[number] = of === tile && down < height && across < width;
      }
      const places = [];
      for (let place = 0, at = 0; at < numbers.length; place++, at += held) {
        for (let rank = 0; rank < held; rank++) {
          if (!covers[numbers[at + rank]]) continue;
          places.push([rows[Math.floor(place / columns.length)], columns[place % columns.length], ...patch]);
          break;
        }
      }
      image.light(places, places.length <= 200 ? places : []);
      const spot = [tiles[tile][0] + y, tiles[tile][1] + x, 1, 1];
      epitome.light([spot], [spot]);
      const all = rows.length * columns.length;
      const share = ((100 * places.length) / all).toFixed(1);
      say(`Pixel at ${ofTile(tile)}row ${y}, column ${x}: used by ${places.length} of ${all} patches, ${share} %.`);
    }

    function clear() {
      again = () => {};
      image.clear();
      epitome.clear();
      say("Nothing is selected.");
    }

    function say(words) {
      if (said.textContent !== words) said.textContent = words;
    }

    function windowsOf(row, column) {
      const first = held * (row * columns.length + column);
      return Array.from(numbers.subarray(first, first + held)).filter((number) => number < nWindows);
    }

    // The rectangles of a window on the sheet: several if it runs over the border.
    function onSheet(number) {
      const [tile, top, left, height, width] = windows.subarray(5 * number, 5 * number + 5);
      const [y, x, tall, wide] = tiles[tile];
      return runs(top, height, tall).flatMap(([first, length]) =>
        runs(left, width, wide).map(([start, across]) => [y + first, x + start, length, across]));
    }

    function runs(first, length, whole) {
      const fits = Math.min(length, whole - first);
      return fits < length ? [[first, fits], [0, length - fits]] : [[first, length]];
    }

    function tileAt(y, x) {
      const tile = tiles.findIndex(([top, left, tall, wide]) => y >= top && y < top + tall && x >= left && x < left + wide);
      return tile < 0 ? null : { tile, y: y - tiles[tile][0], x: x - tiles[tile][1] };
    }

    // The next pixel in a direction, across the gaps between epitomes; where there is none, the same again.
    function moved(down, across) {
      let y = tiles[pixel.tile][0] + pixel.y, x = tiles[pixel.tile][1] + pixel.x, found = null;
      do {
        y += down;
        x += across;
        found = tileAt(y, x);
      } while (!found && y >= 0 && x >= 0 && y < usage.sheet[0] && x < usage.sheet[1]);
      return found || pixel;
    }

    function ofTile(tile) {
      return tiles.length > 1 ? `epitome ${tile + 1}, ` : "";
    }

    function listen(one, point, move) {
      const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const follow = (event) => {
        const box = one.frame.getBoundingClientRect();
        const y = ((event.clientY - box.top) / box.height) * one.tall, x = ((event.clientX - box.left) / box.width) * one.wide;
        if (y >= 0 && x >= 0 && y < one.tall && x < one.wide) point(y, x);
      };
      one.frame.addEventListener("pointermove", follow);
      one.frame.addEventListener("pointerdown", follow);
      one.frame.addEventListener("pointerleave", (event) => {
        if (event.pointerType === "mouse" && document.activeElement !== one.frame) clear(); // a click keeps it
      });
      one.frame.addEventListener("focus", () => {
        if (one.frame.matches(":focus-visible")) move(0, 0); // by keyboard: there is no pointer to begin from
      });
      one.frame.addEventListener("keydown", (event) => {
        if (event.key === "Escape") clear();
        else if (arrows[event.key] && !event.ctrlKey && !event.altKey && !event.metaKey) {
          event.preventDefault(); // the page stays where it is
          const far = event.shiftKey ? 8 : 1;
          move(...arrows[event.key].map((step) => step * far));
        }
      });
    }
  }

  // A picture with a canvas over it, on which places [top, left, height, width], in pixels of the picture, are lit.
  function stage(id, tall, wide) {
    const frame = document.getElementById(id);
    const canvas = frame.querySelector("canvas");
    const pen = canvas.getContext("2d");
    let unit = [1, 1], fine = 1;

    function clear() {
      fine = window.devicePixelRatio || 1;
      canvas.width = Math.round(canvas.clientWidth * fine); // this empties it, too
      canvas.height = Math.round(canvas.clientHeight * fine);
      unit = [canvas.height / tall, canvas.width / wide];
    }

    function box([top, left, height, width]) {
      return [left * unit[1], top * unit[0], width * unit[1], height * unit[0]];
    }

    function light(places, outlined) {
      clear();
      pen.fillStyle = "rgba(0, 0, 0, 0.55)";
      pen.fillRect(0, 0, canvas.width, canvas.height);
      for (const place of places) pen.clearRect(...box(place));
      for (const [width, colour] of [[4, "#000"], [2, "#ffd000"]]) { // yellow in black: seen on any picture
        pen.lineWidth = width * fine;
        pen.strokeStyle = colour;
        for (const place of outlined) pen.strokeRect(...box(place));
      }
    }

    function name(place, words) {
      const [left, top] = box(place);
      pen.font = `bold ${14 * fine}px sans-serif`;
      pen.lineWidth = 4 * fine;
      pen.strokeStyle = "#000";
      pen.fillStyle = "#ffd000";
      const at = [left + 3 * fine, top + 15 * fine];
      pen.strokeText(words, ...at);
      pen.fillText(words, ...at);
    }

    return { frame, tall, wide, clear, light, name };
  }

  function unpacked(text, bytes) {
    const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(raw.buffer);
    const table = bytes === 2 ? new Uint16Array(raw.length / 2) : new Uint32Array(raw.length / 4);
    for (let at = 0; at < table.length; at++) {
      table[at] = bytes === 2 ? view.getUint16(2 * at, true) : view.getUint32(4 * at, true);
    }
    return table;
  }

  function nearest(grid, value) {
    let best = 0;
    grid.forEach((place, at) => { if (Math.abs(place - value) < Math.abs(grid[best] - value)) best = at; });
    return best;
  }

  function within(at, grid) {
    return Math.max(0, Math.min(grid.length - 1, at));
  }

  function centre([top, left, tall, wide]) {
    return [top + (tall >> 1), left + (wide >> 1)];
  }
})();
