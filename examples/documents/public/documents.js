// The page: stores documents, asks, and shows the answer with its sources.
const answer = document.querySelector('#answer');
const list = document.querySelector('#documents');

async function call(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const result = await response.json();
  if (!response.ok) throw new Error(result.error);
  return result;
}

function element(name, text, className = '') {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

async function showDocuments() {
  const documents = await (await fetch('/api/documents')).json();
  list.replaceChildren(...documents.map(({ title, parts }) => element('li', `${title} (${parts})`)));
}

/** Runs `work` when the form is sent; its button waits, and errors are shown. */
function onSubmit(form, work) {
  const button = form.querySelector('button');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await work(Object.fromEntries(new FormData(form)));
    } catch ({ message }) {
      answer.replaceChildren(element('p', message, 'error'));
    }
    button.disabled = false;
  });
}

onSubmit(document.querySelector('#ask'), async ({ question }) => {
  const { answer: text, sources } = await call('/api/ask', { question });
  const numbered = document.createElement('ol');
  for (const { title, part, text: source } of sources) {
    const item = element('li', `${title}, part ${part}`);
    item.append(element('blockquote', source));
    numbered.append(item);
  }
  answer.replaceChildren(element('p', text), numbered);
});

onSubmit(document.querySelector('#store'), async (body) => {
  await call('/api/documents', body);
  document.querySelector('#store').reset();
  await showDocuments();
});

await showDocuments();
