// The page: signs in over /auth/, reads and writes over /api/, and sends pictures straight to the store.

const $ = (selector) => document.querySelector(selector);
let next = null;

/** Builds an element: element('h2', { className: 'x' }, 'text', child). Text is never markup. */
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

async function ask(method, path, body) {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const answer = response.status === 204 ? null : await response.json();
  if (!response.ok)
    throw new Error(answer?.error?.message ?? answer?.error ?? answer?.message ?? `HTTP ${response.status}`);
  return answer;
}

/** Runs what a click or a form asks for, and says what went wrong. */
function attempt(work) {
  return async (event) => {
    event.preventDefault();
    $('#note').textContent = '';
    try {
      await work(event);
    } catch (error) {
      $('#note').textContent = error.message;
    }
  };
}

function card(entry) {
  const text = element('p', { className: 'text' }, entry.text);
  const when = element('time', { dateTime: entry.createdAt }, new Date(entry.createdAt).toLocaleString());
  const made = element('article', { className: 'card' }, element('h2', {}, entry.author, ' ', when), text);
  if (entry.picture !== null)
    made.append(element('img', { src: entry.picture, alt: `Picture by ${entry.author}`, loading: 'lazy' }));
  if (entry.mine) {
    const remove = element('button', { type: 'button', className: 'quiet' }, 'Delete');
    remove.onclick = attempt(async () => {
      await ask('DELETE', `/api/entries/${entry.id}`);
      const undo = element('button', { type: 'button', className: 'quiet' }, 'Undo');
      const gone = element('p', { className: 'card' }, 'Deleted, and in the bin for a week. ', undo);
      made.replaceWith(gone);
      undo.onclick = attempt(async () => gone.replaceWith(card(await ask('POST', `/api/entries/${entry.id}/restore`))));
      undo.focus();
    });
    made.append(element('p', { className: 'buttons' }, remove));
  }
  return made;
}

async function read(before) {
  const page = await ask('GET', `/api/entries${before === null ? '' : `?before=${before}`}`);
  if (before === null) $('#entries').replaceChildren();
  $('#entries').append(...page.entries.map(card));
  if (before === null && page.entries.length === 0) $('#note').textContent = 'Nobody has written anything yet.';
  next = page.next;
  $('#more').hidden = next === null;
}

/** Shows what belongs to who is signed in. */
async function greet() {
  const { user } = await ask('GET', '/auth/me').catch(() => ({ user: null }));
  $('#enter').hidden = user !== null;
  for (const part of ['#guest', '#write', '#mails']) $(part).hidden = user === null;
  if (user !== null) $('#guest span').textContent = user.name || user.email;
  await read(null);
}

$('#enter').onsubmit = attempt(async ({ target, submitter }) => {
  const { email, password, name } = Object.fromEntries(new FormData(target));
  const how = submitter?.value ?? 'signin';
  await ask('POST', `/auth/${how}`, how === 'signup' ? { email, password, name } : { email, password });
  target.reset();
  await greet();
});

$('#leave').onclick = attempt(async () => {
  await ask('POST', '/auth/signout');
  await greet();
});

$('#write').onsubmit = attempt(async ({ target }) => {
  const form = new FormData(target);
  const picture = form.get('picture');
  let entry = await ask('POST', '/api/entries', { text: form.get('text') });
  target.reset();
  try {
    if (picture.size > 0) {
      const { uploadTo } = await ask('POST', `/api/entries/${entry.id}/picture`);
      const sent = await fetch(uploadTo, { method: 'PUT', body: picture });
      if (!sent.ok) throw new Error((await sent.json()).error);
      entry = await ask('PUT', `/api/entries/${entry.id}/picture`);
    }
  } finally {
    $('#entries').prepend(card(entry));
  }
});

$('#more').onclick = attempt(() => read(next));

$('#mails').ontoggle = attempt(async () => {
  if (!$('#mails').open) return;
  const { mails } = await ask('GET', '/api/mails');
  const letters = mails.map(({ subject, text }) =>
    element('li', {}, element('strong', {}, subject), element('br'), text),
  );
  $('#mails ul').replaceChildren(...(letters.length === 0 ? [element('li', {}, 'None yet.')] : letters));
});

greet().catch((error) => ($('#note').textContent = error.message));
