// examples/chat in Chromium, in `platform dev`: the page shows an answer while it comes, keeps the conversation, and
// says what went wrong.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import { openAppPage, type AppPage } from '#test/setup/dashboard-browser.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';
import { chunkOf } from '#test/setup/model-provider.ts';

const options = { skip: chromium === null && 'Chromium is not installed' };
/** A provider that says what the test lets it say. */
const provider = createServer();
let folder: string;
let dev: TestDev;
let opened: AppPage;

before(async () => {
  if (chromium === null) return;
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  folder = await mkdtemp(join(tmpdir(), 'platform-chat-'));
  await cp(join(import.meta.dirname, '../../examples/chat'), folder, { recursive: true });
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  await writeFile(join(folder, '.env'), `AI_PROVIDER_UP_KIND=openai\nAI_PROVIDER_UP_URL=${url}\nAI_AUTO=up/one\n`);
  dev = await startDev(folder);
  opened = await openAppPage();
  await opened.page.goto(`http://localhost:${dev.port}/`);
});
after(async () => {
  if (chromium === null) return;
  await opened?.close();
  await dev?.close();
  provider.closeAllConnections();
  provider.close();
  await rm(folder, { recursive: true, force: true });
});

/** Says something on the page; resolves with what the provider is asked, and its answer to come. */
async function say(text: string): Promise<[messages: unknown, response: ServerResponse]> {
  const asked = once(provider, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  await opened.page.getByLabel('Message').fill(text);
  await opened.page.getByRole('button', { name: 'Send', exact: true }).click();
  const [request, response] = await asked;
  return [((await json(request)) as { messages: unknown }).messages, response];
}

const shows = (text: string): Promise<unknown> =>
  opened.page.waitForFunction(
    `document.querySelector('#messages').lastElementChild.textContent === ${JSON.stringify(text)}`,
  );
const isReady = (): Promise<void> => opened.page.locator('#send:enabled').waitFor();
const frame = (delta: object, finish: string | null = null): string => `data: ${chunkOf(delta, finish)}\n\n`;

test('an answer is on the page while the rest of it is still to come', options, async () => {
  const [messages, response] = await say('Bonjour');
  assert.deepEqual(messages, [{ role: 'user', content: 'Bonjour' }]);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(frame({ role: 'assistant', content: 'Salut ' }));
  await shows('Salut ');
  response.end(`${frame({ content: 'à toi' })}${frame({}, 'stop')}data: [DONE]\n\n`);
  await shows('Salut à toi');
  await isReady();
});

test('the model is sent the whole conversation, and a failure is said', options, async () => {
  const [messages, response] = await say('Encore');
  assert.deepEqual(messages, [
    { role: 'user', content: 'Bonjour' },
    { role: 'assistant', content: 'Salut à toi' },
    { role: 'user', content: 'Encore' },
  ]);
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end('{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}');
  await opened.page.locator('#messages .error', { hasText: 'too long' }).waitFor();
  await isReady();
  const [again, third] = await say('Enfin');
  assert.deepEqual((again as object[]).at(-1), { role: 'user', content: 'Enfin' });
  assert.equal((again as object[]).length, 3);
  third.writeHead(200, { 'content-type': 'text/event-stream' });
  third.end(`${frame({ role: 'assistant', content: 'Oui' })}${frame({}, 'stop')}data: [DONE]\n\n`);
  await shows('Oui');
});

test('the page holds nothing of the gateway, and complains of nothing but what was refused', options, async () => {
  const text = await opened.page.evaluate<string>(`fetch('/chat.js').then((response) => response.text())`);
  assert.doesNotMatch(text, /pk_ai_|PLATFORM_AI/);
  assert.deepEqual(
    opened.complaints.filter((line) => !/\b500\b/.test(line)),
    [],
  );
});
