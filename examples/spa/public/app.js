// The page: a router over the History API and three views. /compare and /about exist only here, so opening them
// directly shows that the server falls back to the page.

const view = document.querySelector('#view');
const views = { '/': clocks, '/compare': compare, '/about': about };
let stop = () => {};

const get = (path) => fetch(path).then((response) => response.json());
const loaded = Promise.all([get('/api/cities'), get('/api/now')]).then(([{ cities }, { now }]) => ({
  cities,
  ahead: now - Date.now(),
}));

/** Builds an element: element('h2', { className: 'x' }, 'text', child). */
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Hour and minute of a zone as numbers, for bars and tables. */
function clockOf(zone, time) {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  }).formatToParts(time);
  const number = (type) => Number(parts.find((part) => part.type === type).value);
  return { hour: number('hour'), minute: number('minute') };
}

async function clocks() {
  const { cities, ahead } = await loaded;
  const cards = cities.map(({ name, zone }) => {
    const time = element('span', { className: 'time' });
    const day = element('span', { className: 'day' });
    const sun = element('i');
    const card = element(
      'article',
      { className: 'card' },
      element('h2', {}, name),
      time,
      day,
      element('div', { className: 'bar' }, sun),
    );
    const draw = () => {
      const now = new Date(Date.now() + ahead);
      time.textContent = now.toLocaleTimeString([], {
        timeZone: zone,
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
      });
      day.textContent = now.toLocaleDateString([], { timeZone: zone, weekday: 'long', day: 'numeric', month: 'long' });
      const { hour, minute } = clockOf(zone, now);
      sun.style.left = `${((hour * 60 + minute) / 1440) * 100}%`;
    };
    return { card, draw };
  });
  const tick = () => cards.forEach(({ draw }) => draw());
  tick();
  const timer = setInterval(tick, 1000);
  stop = () => clearInterval(timer);
  return [
    element('h1', {}, 'What time is it elsewhere?'),
    element('p', { className: 'lead' }, 'Six cities, kept in step with the clock of the server that answered.'),
    element('div', { className: 'grid' }, ...cards.map(({ card }) => card)),
  ];
}

async function compare() {
  const { cities, ahead } = await loaded;
  const now = Date.now() + ahead;
  const rows = cities.map(({ name, zone }) => {
    const hours = Array.from({ length: 24 }, (_, offset) => {
      const { hour } = clockOf(zone, now + offset * 3_600_000);
      const kind = hour >= 9 && hour < 17 ? 'work' : hour >= 7 && hour < 22 ? 'day' : '';
      return element(
        'b',
        { className: `${kind} ${offset === 0 ? 'now' : ''}`, title: `${name} ${hour}:00` },
        String(hour),
      );
    });
    return element(
      'div',
      { className: 'row' },
      element('strong', {}, name),
      element('div', { className: 'hours' }, ...hours),
    );
  });
  return [
    element('h1', {}, 'When is everybody awake?'),
    element('p', { className: 'lead' }, 'The next 24 hours from now. Bright columns are working hours.'),
    ...rows,
  ];
}

function about() {
  return [
    element('h1', {}, 'A single page'),
    element(
      'p',
      { className: 'lead' },
      'Reload this address: the server has no file called "about", answers with index.html, and the page finds its way back here.',
    ),
  ];
}

async function show() {
  stop();
  stop = () => {};
  for (const link of document.querySelectorAll('nav a')) {
    if (link.pathname === location.pathname) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const build =
    views[location.pathname] ??
    (() => [
      element('h1', {}, 'Nothing here'),
      element('p', { className: 'lead' }, `No view is called ${location.pathname}.`),
    ]);
  try {
    view.replaceChildren(...(await build()));
  } catch {
    view.replaceChildren(element('p', { className: 'note' }, 'The server did not answer. Reload to try again.'));
  }
}

document.addEventListener('click', (event) => {
  const link = event.target.closest('a');
  if (!link || link.origin !== location.origin || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, '', link.href);
  show().then(() => view.focus());
});
addEventListener('popstate', show);
show();
