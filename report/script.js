'use strict';
(function () {
  document.documentElement.classList.add('script');

  // Tables: a click on a head sorts by its column, a second one turns the order.
  document.querySelectorAll('table.sortable').forEach(function (table) {
    var heads = table.tHead.rows[0].cells;
    Array.prototype.forEach.call(heads, function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      button.textContent = head.textContent;
      head.textContent = '';
      head.appendChild(button);
      button.addEventListener('click', function () {
        var down = head.getAttribute('aria-sort') === 'ascending';
        Array.prototype.forEach.call(heads, function (h) { h.removeAttribute('aria-sort'); });
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        var body = table.tBodies[0];
        var rows = Array.prototype.map.call(body.rows, function (row, at) {
          return { row: row, at: at, value: value(row.cells[column]) };
        });
        rows.sort(function (a, b) { return (down ? -1 : 1) * compare(a.value, b.value) || a.at - b.at; });
        rows.forEach(function (r) { body.appendChild(r.row); });
      });
    });
  });

  function value(cell) {
    var text = cell.hasAttribute('data-v') ? cell.getAttribute('data-v') : cell.textContent.trim();
    var plain = text.replace(/,/g, '').replace('−', '-').replace(/\s%$/, '');
    var number = Number(plain);
    if (text === '–' || text === '' || text === 'NaN') return { kind: 2, text: '' };
    return isNaN(number) ? { kind: 1, text: text } : { kind: 0, number: number };
  }

  function compare(a, b) {
    if (a.kind !== b.kind) return a.kind - b.kind;
    if (a.kind === 0) return a.number - b.number;
    return a.text.localeCompare(b.text, undefined, { numeric: true });
  }

  // The map.
  var figure = document.getElementById('map-figure');
  var data = JSON.parse(document.getElementById('map-data').textContent);
  var layer = document.getElementById('map-points');
  var labels = document.getElementById('map-labels');
  var legend = document.getElementById('map-legend');
  var ring = document.getElementById('map-ring');
  var tip = document.getElementById('tip');
  var told = document.getElementById('told');
  var colourBy = document.getElementById('colour-by');
  var find = document.getElementById('find');
  var zoomIn = document.getElementById('zoom-in'), zoomOut = document.getElementById('zoom-out');
  var zoomAll = document.getElementById('zoom-all');
  var ns = 'http://www.w3.org/2000/svg';
  var at = -1;
  var only = null;
  var whole = { width: figure.viewBox.baseVal.width, height: figure.viewBox.baseVal.height };
  var view = { x: 0, y: 0, zoom: 1 }; // the window on the map: its corner, and by how much it is smaller than the whole
  var most = 32;

  function shape(g) { return data.shapes[(g + Math.floor(g / data.colours)) % data.shapes.length]; }

  function groupOf(i) {
    switch (colourBy.value) {
      case 't': return data.t[i];
      case 'c': return Math.min(Math.floor(5 * data.c[i]), 4);
    }
    return data.k[i];
  }

  function groupName(g) {
    switch (colourBy.value) {
      case 't': return data.names[g];
      case 'c': return 'confidence ' + (g / 5).toFixed(1) + ' to ' + ((g + 1) / 5).toFixed(1);
    }
    return 'cluster ' + g;
  }

  // mark gives a path the colour and the shape of a group.
  function mark(path, g) {
    if (colourBy.value === 'c') {
      path.setAttribute('class', 'p');
      path.style.stroke = 'color-mix(in srgb, var(--k0) ' + (20 + 20 * g) + '%, var(--k3))';
      return 'h0';
    }
    path.setAttribute('class', 'p k' + g % data.colours);
    return shape(g);
  }

  // scaled makes the shape of a mark smaller as the map grows, so that it keeps its size on the screen.
  function scaled(shape) {
    return shape.replace(/\d+\.?\d*/g, function (x) { return String(Math.round(1000 * Number(x) / view.zoom) / 1000); });
  }

  function redraw() {
    var paths = {}, sizes = {};
    for (var i = 0; i < data.x.length; i++) {
      var g = groupOf(i);
      if (!paths[g]) { paths[g] = []; sizes[g] = 0; }
      sizes[g]++;
      paths[g].push('M' + data.x[i] + ' ' + data.y[i]);
    }
    layer.textContent = '';
    legend.textContent = '';
    labels.setAttribute('visibility', colourBy.value === 'k' ? 'visible' : 'hidden');
    Object.keys(paths).map(Number).sort(function (a, b) { return a - b; }).forEach(function (g) {
      var path = document.createElementNS(ns, 'path');
      var end = mark(path, g);
      path.setAttribute('data-group', g);
      path.setAttribute('d', paths[g].join(scaled(end)) + scaled(end));
      layer.appendChild(path);
      var item = document.createElement('li');
      var button = document.createElement('button');
      var sample = document.createElementNS(ns, 'svg');
      var dot = document.createElementNS(ns, 'path');
      var count = document.createElement('small');
      button.type = 'button';
      button.setAttribute('data-group', g);
      button.setAttribute('aria-pressed', 'false');
      sample.setAttribute('viewBox', '-6 -6 12 12');
      sample.setAttribute('aria-hidden', 'true');
      dot.setAttribute('d', 'M0 0' + mark(dot, g));
      sample.appendChild(dot);
      count.textContent = sizes[g].toLocaleString('en');
      button.append(sample, groupName(g) + ' ', count);
      item.appendChild(button);
      legend.appendChild(item);
    });
    dim();
  }

  // A click on the legend shows one group alone.
  legend.addEventListener('click', function (event) {
    var button = event.target.closest('button');
    if (!button) return;
    var g = button.getAttribute('data-group');
    only = only === g ? null : g;
    dim();
  });

  function dim() {
    legend.querySelectorAll('button').forEach(function (b) {
      b.setAttribute('aria-pressed', String(b.getAttribute('data-group') === only));
    });
    layer.querySelectorAll('path').forEach(function (p) {
      p.classList.toggle('dim', only !== null && p.getAttribute('data-group') !== only);
    });
  }

  // look shows a window of the map, and marks in their size of the whole map.
  function look(x, y, zoom) {
    var before = view.zoom;
    zoom = Math.min(Math.max(zoom, 1), most);
    view.x = Math.min(Math.max(x, 0), whole.width - whole.width / zoom);
    view.y = Math.min(Math.max(y, 0), whole.height - whole.height / zoom);
    view.zoom = zoom;
    figure.setAttribute('viewBox', [view.x, view.y, whole.width / zoom, whole.height / zoom].join(' '));
    figure.style.setProperty('--zoom', zoom);
    figure.classList.toggle('zoomed', zoom > 1);
    ring.setAttribute('r', 7 / zoom);
    zoomIn.disabled = zoom >= most;
    zoomOut.disabled = zoomAll.disabled = zoom <= 1;
    if (zoom !== before) redraw();
    if (at >= 0) tipTo(at);
  }

  // zoomAt changes the zoom and leaves a place of the map where it is on the screen.
  function zoomAt(x, y, factor) {
    var zoom = Math.min(Math.max(view.zoom * factor, 1), most);
    var q = view.zoom / zoom;
    look(x - (x - view.x) * q, y - (y - view.y) * q, zoom);
  }

  function zoomBy(factor) {
    if (at >= 0) zoomAt(data.x[at], data.y[at], factor);
    else zoomAt(view.x + whole.width / view.zoom / 2, view.y + whole.height / view.zoom / 2, factor);
  }

  // place is where the pointer is on the map.
  function place(event) {
    var box = figure.getBoundingClientRect();
    var scale = whole.width / view.zoom / box.width;
    return { x: view.x + (event.clientX - box.left) * scale, y: view.y + (event.clientY - box.top) * scale, scale: scale };
  }

  function describe(i) {
    var lines = [data.id[i], 'cluster ' + data.k[i] + ', confidence ' + data.c[i].toFixed(2)];
    if (data.n[i] >= 0) lines.push('next cluster ' + data.n[i]);
    if (data.t) lines.push('known class ' + data.names[data.t[i]]);
    return lines;
  }

  function show(i, say) {
    at = i;
    ring.setAttribute('cx', data.x[i]);
    ring.setAttribute('cy', data.y[i]);
    ring.setAttribute('visibility', 'visible');
    var lines = describe(i);
    tip.textContent = lines.join('\n');
    tip.hidden = false;
    tipTo(i);
    if (say) told.textContent = 'Sample ' + lines.join(', ') + '.';
  }

  function tipTo(i) {
    var box = figure.getBoundingClientRect();
    var scale = box.width * view.zoom / whole.width;
    var x = (data.x[i] - view.x) * scale, y = (data.y[i] - view.y) * scale;
    tip.style.left = (x > box.width / 2 ? x - tip.offsetWidth - 12 : x + 12) + 'px';
    tip.style.top = (y > box.height / 2 ? y - tip.offsetHeight - 12 : y + 12) + 'px';
  }

  // reach moves the window to a point that lies outside.
  function reach(i) {
    var w = whole.width / view.zoom, h = whole.height / view.zoom;
    if (data.x[i] < view.x || data.x[i] > view.x + w || data.y[i] < view.y || data.y[i] > view.y + h) {
      look(data.x[i] - w / 2, data.y[i] - h / 2, view.zoom);
    }
  }

  function hide() {
    at = -1;
    ring.setAttribute('visibility', 'hidden');
    tip.hidden = true;
  }

  var dragged = null;
  figure.addEventListener('pointermove', function (event) {
    var to = place(event), x = to.x, y = to.y;
    if (dragged) {
      look(view.x + dragged.x - x, view.y + dragged.y - y, view.zoom);
      return;
    }
    var best = -1, nearest = 14 * 14 / view.zoom / view.zoom;
    for (var i = 0; i < data.x.length; i++) {
      if (only !== null && String(groupOf(i)) !== only) continue;
      var dx = data.x[i] - x, dy = data.y[i] - y, d = dx * dx + dy * dy;
      if (d < nearest) { nearest = d; best = i; }
    }
    if (best < 0) hide(); else if (best !== at) show(best, false);
  });
  figure.addEventListener('pointerleave', hide);
  figure.addEventListener('pointerdown', function (event) {
    if (view.zoom === 1) return;
    hide();
    dragged = place(event);
    figure.setPointerCapture(event.pointerId);
  });
  ['pointerup', 'pointercancel'].forEach(function (end) { figure.addEventListener(end, function () { dragged = null; }); });
  // The wheel scrolls the page until the map has the focus.
  figure.addEventListener('wheel', function (event) {
    if (document.activeElement !== figure || event.deltaY > 0 && view.zoom === 1) return;
    event.preventDefault();
    var to = place(event);
    zoomAt(to.x, to.y, event.deltaY < 0 ? 1.25 : 0.8);
  }, { passive: false });
  zoomIn.addEventListener('click', function () { zoomBy(1.6); });
  zoomOut.addEventListener('click', function () { zoomBy(1 / 1.6); });
  zoomAll.addEventListener('click', function () { look(0, 0, 1); });
  figure.addEventListener('blur', hide);

  // The arrow keys go to the nearest point in their direction, + and − zoom, 0 shows the whole map, Escape leaves.
  figure.addEventListener('keydown', function (event) {
    var way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return; // keys of the browser
    switch (event.key) {
      case 'Escape': hide(); return;
      case '+': case '=': event.preventDefault(); zoomBy(1.6); return;
      case '-': event.preventDefault(); zoomBy(1 / 1.6); return;
      case '0': event.preventDefault(); look(0, 0, 1); return;
    }
    if (!way) return;
    event.preventDefault();
    if (at < 0) { reach(0); show(0, true); return; }
    var best = -1, least = Infinity;
    for (var i = 0; i < data.x.length; i++) {
      var dx = data.x[i] - data.x[at], dy = data.y[i] - data.y[at];
      var along = dx * way[0] + dy * way[1], across = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      if (i === at || along <= 0 || across > 2 * along) continue;
      if (along + 2 * across < least) { least = along + 2 * across; best = i; }
    }
    if (best >= 0) { reach(best); show(best, true); }
  });

  function search() {
    var text = find.value.trim();
    if (text === '') { told.textContent = ''; hide(); return; }
    var i = data.id.indexOf(text);
    if (i < 0) i = data.id.findIndex(function (id) { return id.toLowerCase().indexOf(text.toLowerCase()) >= 0; });
    if (i < 0) { hide(); told.textContent = 'There is no sample ' + text + ' on the map.'; return; }
    reach(i);
    show(i, true);
  }

  find.addEventListener('input', search);
  colourBy.addEventListener('change', function () { only = null; redraw(); });
  redraw();
})();
