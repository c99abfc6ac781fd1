// Shows the conversation of the worker, and sends typed messages.
const $ = (selector) => document.querySelector(selector);

function line(role, text, result) {
  const item = document.createElement('li');
  item.className = role;
  item.textContent = role === 'tool' ? `${text} → ${result ?? '…'}` : text;
  return item;
}

function show({ messages, waiting, partial, isBusy, reminders }) {
  $('#messages').replaceChildren(
    ...messages.map(({ role, text, result }) => line(role, text, result)),
    ...(partial ? [line('assistant partial', partial)] : isBusy ? [line('assistant partial', '…')] : []),
    ...waiting.map((text) => line('user waiting', text)),
  );
  $('#reminders').textContent = reminders
    .map(({ description, scheduledTime }) => `${new Date(scheduledTime).toLocaleTimeString()}: ${description}`)
    .join(', ');
  $('#messages').lastElementChild?.scrollIntoView({ block: 'nearest' });
}

// Reconnects automatically when the connection ends. Its first response sets the cookie that identifies the user.
const events = new EventSource('/api/events');
const opened = new Promise((resolve) => events.addEventListener('open', resolve, { once: true }));
events.addEventListener('message', ({ data }) => show(JSON.parse(data)));

async function send(text) {
  await opened;
  const response = await fetch('/api/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  });
  const { reply = '', error = '' } = await response.json();
  $('#note').textContent = reply || error;
  if (response.ok) $('#text').value = '';
}

$('form').addEventListener('submit', (event) => {
  event.preventDefault();
  void send($('#text').value);
});
for (const button of document.querySelectorAll('.try button'))
  button.addEventListener('click', () => void send(button.textContent));
