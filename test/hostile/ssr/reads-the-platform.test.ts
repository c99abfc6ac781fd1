import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFolders } from '#core/process/confinement/command-line.ts';
import { openHostileServer } from '#test/setup/hostile-server.ts';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';

for (const fence of ['bwrap', 'own'] as const) {
  const { test } = testsUnless(await serverFenceMissing(fence));

  test(`a server reads neither the data folder nor what other processes were started with (${fence})`, async (t) => {
    const { platform, run } = await openHostileServer(t, { PLATFORM_FENCE: fence });
    const { folder } = platform;
    writeFileSync(join(folder, 'secret'), 'of the platform');
    const read = (path: string): string => `return fs.readdirSync(${JSON.stringify(path)});`;
    assert.deepEqual(await run(read(folder)), { error: 'ENOENT' });
    assert.deepEqual(await run(read(join(folder, 'ssr'))), { error: 'ENOENT' });
    // Nothing but the way to Node, where that lies there.
    const [toNode] = nodeFolders().flatMap((each) => (each.startsWith('/root/') ? [each.split('/')[2]] : []));
    assert.deepEqual(await run(read('/root')), toNode === undefined ? { error: 'ENOENT' } : [toNode]);
    assert.deepEqual(await run(read('/etc/skel')), { error: 'ENOENT' });
    // Its own processes alone are there, none of them the platform's.
    const commands = (await run(`
      return fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name))
        .map((id) => fs.readFileSync('/proc/' + id + '/cmdline', 'latin1'));`)) as string[];
    assert.ok(commands.length > 0);
    for (const command of commands) assert.match(command, /^(?:\S*\/(?:bwrap|fence-linux-\w+)|\S*node|sh)\0/);
    const environs = (await run(`
      return fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map((id) => {
        try { return fs.readFileSync('/proc/' + id + '/environ', 'latin1'); } catch { return ''; }
      }).join();`)) as string;
    assert.doesNotMatch(environs, /FS_PATH|PRIVATE_PORT_TOKEN|ENGINE_SECRET|DATABASE_URL/);
  });

  test(`a server changes nothing of its own code, and fills no disk (${fence})`, async (t) => {
    const { run } = await openHostileServer(t, { PLATFORM_FENCE: fence, SSR_TMP_MAX_BYTES: '1000000' });
    assert.deepEqual(await run(`fs.writeFileSync('server.js', '');`), { error: 'EROFS' });
    assert.deepEqual(await run(`fs.writeFileSync('/tmp/large', Buffer.alloc(4_000_000));`), { error: 'ENOSPC' });
  });

  test(`a server kills nobody (${fence})`, async (t) => {
    const { platform, run } = await openHostileServer(t, { PLATFORM_FENCE: fence });
    const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    await run(
      `for (const id of ${JSON.stringify(ids)}) if (id !== '1' && id !== String(process.pid)) try { process.kill(Number(id), 'SIGKILL'); } catch {}`,
    );
    assert.equal((await platform.fetch('good')).status, 200);
    assert.equal(platform.engineStarts, 1);
  });
}
