// What every store of exposed ports promises. Run by exposed-ports.test.ts over each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { ExposedPort, ExposedPortRows } from '#sandbox/routes/exposed-ports.ts';
import type { SandboxRows } from '#sandbox/service/rows.ts';

interface ExposedPortsCase {
  readonly rows: SandboxRows;
  readonly ports: ExposedPortRows;
  close(): Promise<void>;
}

const place: SandboxPlace = { project: 'shop', resource: 'work', id: 'A.b_c-1' };
const MOST = 2;

const portOf = (port: number, more: Partial<ExposedPort> = {}): ExposedPort => ({
  name: `${'a'.repeat(15)}${'abcdefghijklmnop'[port % 16]}`,
  port,
  label: null,
  isPublic: false,
  ...more,
});

export function testExposedPorts(name: string, open: () => Promise<ExposedPortsCase>): void {
  const fact = (title: string, run: (subject: ExposedPortsCase & { key: string }) => Promise<void>): void => {
    test(`${name}: ${title}`, async () => {
      const subject = await open();
      try {
        const claim = await subject.rows.claim(place);
        assert.ok(claim.is === 'ours');
        await run({ ...subject, key: claim.row.key });
      } finally {
        await subject.close();
      }
    });
  };

  fact('a port keeps its name when it is exposed again, and gets the rest', async ({ ports, key }) => {
    const owner = { place, key };
    assert.deepEqual(await ports.expose(owner, portOf(80), MOST), portOf(80));
    const again = await ports.expose(owner, portOf(80, { name: 'b'.repeat(16), label: 'web', isPublic: true }), MOST);
    assert.deepEqual(again, portOf(80, { label: 'web', isPublic: true }));
    assert.deepEqual(await ports.find('b'.repeat(16)), null);
    assert.deepEqual(await ports.find(portOf(80).name), { ...again, place, key });
  });

  fact('as many as may be are listed by port, of their sandbox alone', async ({ ports, key }) => {
    const owner = { place, key };
    await ports.expose(owner, portOf(443), MOST);
    await ports.expose(owner, portOf(80), MOST);
    assert.equal(await ports.expose(owner, portOf(81), MOST), null);
    assert.deepEqual(await ports.expose(owner, portOf(443), MOST), portOf(443));
    assert.deepEqual(await ports.list(place), [portOf(80), portOf(443)]);
    assert.deepEqual(await ports.list({ ...place, project: 'rival' }), []);
  });

  fact('one that is taken back is gone, and others stay', async ({ ports, key }) => {
    const owner = { place, key };
    await ports.expose(owner, portOf(80), MOST);
    await ports.expose(owner, portOf(443), MOST);
    await ports.remove({ ...place, id: 'other' }, 80);
    await ports.remove(place, 80);
    await ports.remove(place, 80);
    assert.equal(await ports.find(portOf(80).name), null);
    assert.deepEqual(await ports.list(place), [portOf(443)]);
  });

  fact('they go with their sandbox, and one of the same place has none', async ({ ports, rows, key }) => {
    await ports.expose({ place, key }, portOf(80), MOST);
    await rows.remove(key);
    assert.equal(await ports.find(portOf(80).name), null);
    await rows.claim(place);
    assert.equal(await ports.find(portOf(80).name), null);
    assert.deepEqual(await ports.list(place), []);
    assert.equal(await ports.expose({ place, key }, portOf(81), MOST).catch(() => null), null);
  });
}
