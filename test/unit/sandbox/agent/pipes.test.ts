import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createPipes, type Pipes } from '#sandbox/agent/pipes.ts';

describe('standard streams of commands', () => {
  const { TMPDIR } = process.env;
  const folder = mkdtempSync(path.join(tmpdir(), 'pipes-test-'));
  let pipes: Pipes;

  before(() => {
    process.env['TMPDIR'] = folder;
    pipes = createPipes();
  });
  after(() => {
    // Other files may run in this process.
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    rmSync(folder, { recursive: true });
  });

  async function run(script: string, input: string | null = null): Promise<string | null> {
    const streams = await pipes.take(input === null ? null : Buffer.from(input));
    if (streams === null) return null;
    spawn('/bin/sh', ['-c', script], { stdio: [...streams.stdio] });
    streams.given();
    const [out, err] = await Promise.all([streams.stdout, streams.stderr].map((each) => each.toArray()));
    return `${Buffer.concat(out!)}|${Buffer.concat(err!)}`;
  }
  const names = (): number => readdirSync(folder, { recursive: true }).length;

  it('can be opened by their names, and end with whoever has them', async () => {
    assert.equal(await run('echo out > /dev/stdout; echo err > /dev/stderr'), 'out\n|err\n');
    assert.equal(await run('cat; cat /dev/stdin', 'read'), 'readread|');
  });

  it('are more than are made at once, and leave no names', async () => {
    // Two names each.
    const all = await Promise.all(Array.from({ length: 50 }, (_, index) => run(`echo ${index}`, 'x')));
    assert.deepEqual(
      all,
      Array.from({ length: 50 }, (_, index) => `${index}\n|`),
    );
    assert.ok(names() < 100);
  });

  it('come back after somebody has emptied the temporary folder', async () => {
    for (const name of readdirSync(folder)) rmSync(path.join(folder, name), { recursive: true });
    assert.equal(await run('echo out'), 'out\n|');
  });

  it('go with the next agent where an agent was killed, and those of others that run stay', async () => {
    const { pid: ended } = spawnSync('true');
    const left = [
      `platform-pipes-${ended}-1-aaaaaa`,
      // The id of this process, of somebody who had it before.
      `platform-pipes-${process.pid}-1-aaaaaa`,
      `platform-pipes-${process.ppid}-1-aaaaaa`,
      'platform-pipes-aaaaaa',
    ];
    for (const name of left) {
      mkdirSync(path.join(folder, name));
      writeFileSync(path.join(folder, name, '1'), '');
    }
    const own = readdirSync(folder).filter((name) => !left.includes(name));
    assert.ok(own.length > 0);
    const taken = await createPipes().take(null);
    taken?.given();
    taken?.stdout.destroy();
    taken?.stderr.destroy();
    const found = readdirSync(folder);
    assert.deepEqual(
      left.map((name) => found.includes(name)),
      [false, false, true, true],
    );
    for (const name of own) assert.ok(found.includes(name), name);
    assert.equal(await run('echo out'), 'out\n|');
  });

  it('are none without the program that makes them', async () => {
    const { PATH } = process.env;
    process.env['PATH'] = folder;
    try {
      const none = createPipes();
      assert.equal(await none.take(null), null);
    } finally {
      process.env['PATH'] = PATH;
    }
  });
});
