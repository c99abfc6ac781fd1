// A chat with an agent, for the test in Chromium.
import { AgentClient } from 'agents/client';

const list = document.createElement('ol');
const field = document.createElement('input');
field.setAttribute('aria-label', 'Message');
document.body.append(list, field);
const client = new AgentClient({
  agent: 'chat',
  name: 'one',
  host: location.host,
  onStateUpdate({ lines }) {
    list.replaceChildren(
      ...lines.map(({ role, content }) =>
        Object.assign(document.createElement('li'), { textContent: `${role}: ${content}` }),
      ),
    );
  },
});
field.addEventListener('change', () => {
  client.send(field.value);
  field.value = '';
});
