// When a sandbox gets a token of the AI gateway, and what becomes of calls where that fails.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Duplex, duplexPair } from 'node:stream';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { createAiAccess, type AiAccess } from '#sandbox/service/ai-access.ts';

const MINUTE_MS = 60_000;

interface Case {
  readonly ai: AiAccess;
  readonly clock: { at: number };
  /** What the agent was told, and what was revoked. */
  readonly told: unknown[];
  readonly reports: string[];
  readonly fails: { issue: Error | null; status: number };
}

function open(): Case {
  const clock = { at: 1_000_000 };
  const [told, reports]: [unknown[], string[]] = [[], []];
  const fails: Case['fails'] = { issue: null, status: 200 };
  let made = 0;
  const agent = createServer((asked, answer) => {
    void json(asked).then((fields) => {
      told.push(fields);
      answer.writeHead(fails.status).end('null');
    });
  });
  const ai = createAiAccess({
    tokens: {
      async issue() {
        if (fails.issue !== null) throw fails.issue;
        return `token ${++made}`;
      },
      async revoke(key) {
        told.push(`revoked ${key}`);
      },
    },
    url: 'http://ai.example/ai',
    async connect() {
      const [ours, theirs] = duplexPair();
      agent.emit('connection', theirs as Duplex);
      return ours as Duplex;
    },
    now: () => clock.at,
    report: (message) => void reports.push(message),
  });
  return { ai, clock, told, reports, fails };
}

test('a machine gets another token after 45 minutes, and keeps the one it has until then', async () => {
  const { ai, clock, told, reports } = open();
  await ai.refresh('k');
  clock.at += 44 * MINUTE_MS;
  await ai.refresh('k');
  assert.deepEqual(told, [{ url: 'http://ai.example/ai', token: 'token 1' }]);
  clock.at += MINUTE_MS;
  await ai.refresh('k');
  assert.deepEqual(told.slice(1), [{ url: 'http://ai.example/ai', token: 'token 2' }]);
  assert.deepEqual(reports, []);
});

test('one that sleeps is told to forget its token, which is revoked, and gets another one when it wakes', async () => {
  const { ai, told } = open();
  await ai.refresh('k');
  await ai.withdraw('k');
  await ai.refresh('k');
  assert.deepEqual(told, [
    { url: 'http://ai.example/ai', token: 'token 1' },
    {},
    'revoked k',
    { url: 'http://ai.example/ai', token: 'token 2' },
  ]);
});

test('what fails is reported and tried again after a minute, and no call fails for it', async () => {
  const { ai, clock, told, reports, fails } = open();
  fails.issue = new Error('the database is away');
  await ai.refresh('k');
  await ai.refresh('k');
  assert.deepEqual(reports, ['AI token of sandbox k: the database is away']);
  fails.issue = null;
  fails.status = 500;
  clock.at += MINUTE_MS;
  await ai.refresh('k');
  assert.deepEqual(reports.slice(1), ['AI token of sandbox k: its agent answers 500']);
  fails.status = 200;
  clock.at += MINUTE_MS;
  await ai.refresh('k');
  assert.deepEqual(told.at(-1), { url: 'http://ai.example/ai', token: 'token 2' });
  // Whether or not an agent answers, what it has is worth nothing.
  fails.status = 500;
  await ai.withdraw('k');
  assert.equal(told.at(-1), 'revoked k');
});
