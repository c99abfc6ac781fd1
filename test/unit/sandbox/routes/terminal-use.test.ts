// How long a terminal keeps its sandbox from being suspended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { HeldSandbox } from '#sandbox/routes/held-sandboxes.ts';
import { useForTerminal } from '#sandbox/routes/terminal-use.ts';
import { until } from '#test/setup/until.ts';

const place = { project: 'shop', resource: 'boxes', id: 'one' };

/** A sandbox that counts who holds it. */
function counted(): { readonly holds: () => number; readonly isGone: () => void; hold(): Promise<HeldSandbox> } {
  let holds = 0;
  let isGone = false;
  return {
    holds: () => holds,
    isGone: () => void (isGone = true),
    async hold() {
      if (isGone) throw new Error('gone');
      holds++;
      let isHeld = true;
      const release = (): void => {
        if (isHeld) holds--;
        isHeld = false;
      };
      return { key: 'k', connect: () => Promise.reject(new Error('none')), release };
    },
  };
}

async function* bytes(ms: readonly number[]): AsyncGenerator<Buffer> {
  for (const each of ms) {
    await pause(each);
    yield Buffer.from('x');
  }
}

test('a terminal holds its sandbox while bytes pass, lets go when none do, and holds it again with the next', async () => {
  const sandbox = counted();
  const use = useForTerminal({ holdKey: sandbox.hold }, place, await sandbox.hold(), 20);
  assert.equal(sandbox.holds(), 1);
  await until(() => sandbox.holds() === 0);
  for await (const _ of use.typed(bytes([0]))) assert.equal(sandbox.holds(), 1);
  await until(() => sandbox.holds() === 0);
  for await (const _ of use.printed(bytes([0, 1]))) assert.equal(sandbox.holds(), 1);
  use.release();
  assert.equal(sandbox.holds(), 0);
});

test('what is typed for a sandbox that is gone ends the terminal, and holds nothing', async () => {
  const sandbox = counted();
  const use = useForTerminal({ holdKey: sandbox.hold }, place, await sandbox.hold(), 1);
  await until(() => sandbox.holds() === 0);
  sandbox.isGone();
  await assert.rejects(use.typed(bytes([0])).next(), /gone/);
  assert.equal(use.lost.aborted, true);
  use.release();
  assert.equal(sandbox.holds(), 0);
});
