// The page: keeps the conversation, sends it, and shows the answer while it comes.
const list = document.querySelector('#messages');
const form = document.querySelector('#form');
const question = document.querySelector('#question');
const send = document.querySelector('#send');
const messages = [];

function show(role, text) {
  const item = document.createElement('li');
  item.className = role;
  item.textContent = text;
  list.append(item);
  item.scrollIntoView({ block: 'end' });
  return item;
}

/** The events of a stream; one may come in pieces, or several at once. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line.startsWith('data: ') && line !== 'data: [DONE]') yield JSON.parse(line.slice(6));
  }
}

async function ask() {
  const item = show('assistant', '');
  const response = await fetch('/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages }),
  });
  if (!response.ok) throw new Error((await response.json()).error);
  for await (const { choices, error } of eventsOf(response.body)) {
    if (error) throw new Error(error.message);
    item.textContent += choices[0]?.delta.content ?? '';
  }
  messages.push({ role: 'assistant', content: item.textContent });
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  messages.push({ role: 'user', content: question.value });
  show('user', question.value);
  question.value = '';
  send.disabled = true;
  try {
    await ask();
  } catch ({ message }) {
    // What was not answered is not asked again with the next message.
    messages.pop();
    show('error', message);
  }
  send.disabled = false;
  question.focus();
});
