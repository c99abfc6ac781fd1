// Checks what the deployed apps of .ci/newcomer answer to a visitor. Called by it.
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { send } from '#test/setup/send.ts';
import { checks } from './checks.ts';
import { visitorOf } from './visitor.ts';

const ANSWER_MS_MAX = 60_000;
const port = Number(process.env['HANDLER_PORT'] ?? 4001);
const hostOf = (name: string): string => `${name}.localhost:${port}`;

for (const name of ['next-app', 'kit-app']) {
  const visitor = visitorOf(`http://${hostOf(name)}`, { host: '127.0.0.1', port });
  const { status } = await visitor.get('/');
  if (status !== 200) throw new Error(`${name} answers ${status}`);
  await checks.form(visitor, { kind: 'dynamic' });
  process.stdout.write(`${name}: its page and its form answer\n`);
}
process.stdout.write(`agent-app: "${await said(hostOf('agent-app'), 'Hello')}"\n`);

/** What the agent answers to a message. */
async function said(host: string, text: string): Promise<string> {
  // Any first request starts a conversation.
  const { headers } = await send(port, host, '/api/nothing');
  const cookie = headers['set-cookie']![0]!.split(';')[0]!;
  const body = JSON.stringify({ text });
  const sent = await send(port, host, '/api/messages', { method: 'POST', headers: { cookie }, body });
  if (sent.status !== 200) throw new Error(`the agent answers ${sent.status}: ${sent.text}`);
  let view = '';
  for (const end = Date.now() + ANSWER_MS_MAX; Date.now() < end; await pause(200)) {
    view = await conversation(host, cookie);
    const { messages } = JSON.parse(view) as { messages: { role: string; text: string }[] };
    const found = messages.find(({ role }) => role === 'assistant');
    if (found !== undefined) return found.text;
  }
  throw new Error(`the agent says nothing: ${view}`);
}

/** The first of its events, which has all that was said. */
function conversation(host: string, cookie: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/api/events', headers: { host, cookie } };
    const asked = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const [, view] = /^data: (.*)\n\n/.exec(text) ?? [];
        if (view === undefined) return;
        resolve(view);
        asked.destroy();
      });
    });
    asked.on('error', reject).end();
  });
}
