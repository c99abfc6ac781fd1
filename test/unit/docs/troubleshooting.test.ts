// docs/troubleshooting.md shows answers of the platform as it gives them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { errorTable, isErrorCode } from '#core/errors.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/troubleshooting.md'), 'utf8');

test('each answer in docs/troubleshooting.md has the message of its code', () => {
  const shown = [...text.matchAll(/^\{"error".*\}$/gm)].map(([line]) => JSON.parse(line) as Record<string, string>);
  assert.ok(shown.length >= 10);
  for (const { error, code } of shown) {
    assert.ok(isErrorCode(code), `${code} is no code`);
    // What a worker threw is for its log.
    const message = code === 'worker_threw' ? 'The worker threw' : errorTable[code].message;
    const parts = message.split(/\{\w+\}/).map((part) => part.replace(/[^\w ]/g, '\\$&'));
    assert.match(error!, new RegExp(`^${parts.join('.+')}$`));
  }
});

test('the command for a second platform takes no port that the first one has by default', () => {
  const lines = [...text.matchAll(/(?:\w+=\S+ )+npm start/g)].map(([line]) => line);
  const ports = lines.map((line) =>
    [...line.matchAll(/(\w+)_PORT=(\d+)/g)].map(([, name, port]) => [name, Number(port)]),
  );
  const second = ports[lines.findIndex((line) => line.startsWith('FS_PATH='))]!;
  assert.deepEqual(second.map(([name]) => name).toSorted(), ['API', 'DOCS', 'HANDLER', 'HANDLER_PRIVATE', 'UI']);
  const first = new Set([4001, 4002, 3002, 3005, 8081]);
  for (const [name, port] of ports.flat()) assert.ok(!first.has(Number(port)), `${name}_PORT=${port}`);
});
