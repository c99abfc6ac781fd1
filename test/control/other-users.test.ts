// What another user of the machine finds of a running platform: the ports that visitors use, the private port that
// wants its token, and sockets in folders that nobody else may enter.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { send } from '#test/setup/send.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform(
    { shop: `export default { fetch: () => new Response('hello') };` },
    { DATABASE_URL: '', PRIVATE_PORT_TOKEN: '' },
  );
  await platform.answers('shop', 'hello');
});
after(() => platform.close());

const skip = process.platform === 'linux' ? false : 'reads /proc';

/** The supervisor and all that it has started. */
function processes(): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [, rest = ''] = readFileSync(`/proc/${name}/stat`, 'utf8').split(/\) /);
      parents.set(Number(name), Number(rest.split(' ')[1]));
    } catch {
      // It has ended.
    }
  }
  const found = [platform.supervisorPid];
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found;
}

/** Numbers of the sockets that processes hold. */
function socketsOf(pids: readonly number[]): Set<string> {
  const sockets = new Set<string>();
  for (const pid of pids) {
    let names: string[] = [];
    try {
      names = readdirSync(`/proc/${pid}/fd`);
    } catch {
      // Of another user, which we are not allowed to look into: its sockets are looked at by their paths.
    }
    for (const name of names) {
      try {
        const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`)) ?? [];
        if (inode !== undefined) sockets.add(inode);
      } catch {
        // Closed since.
      }
    }
  }
  return sockets;
}

test('no socket of the platform lies where others may enter', { skip }, () => {
  const own = socketsOf(processes());
  const paths = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , flags, , , inode, path]) => flags === '00010000' && own.has(inode ?? '') && path !== undefined)
    .map((fields) => fields[7]!);
  assert.ok(paths.length >= 4, paths.join());
  for (const path of paths) {
    // A name without a file: it only says that the port is taken, and hangs up. Postgres, where it is of another user,
    // has its socket by a descriptor of its folder; the socket itself is its owner's alone (unix_socket_permissions).
    if (path.startsWith('@platform-handler-') || path.startsWith('/proc/self/fd/')) continue;
    assert.equal(statSync(dirname(path)).mode & 0o077, 0, path);
  }
});

test('of ports there are the public one and the private one', { skip }, () => {
  const own = socketsOf(processes());
  const ports = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && own.has(inode ?? ''))
      .map(([, local = '']) => Number.parseInt(local.split(':')[1]!, 16)),
  );
  assert.deepEqual([...new Set(ports)].toSorted(), [platform.port, platform.privatePort].toSorted());
});

test('without a token of the operator the private port wants the one in the data folder', async () => {
  const ask = async (authorization: string, path = '/_platform/status'): Promise<number> =>
    (await send(platform.privatePort, '127.0.0.1', path, { headers: { authorization } })).status;
  const file = `${platform.folder}/private-port.token`;
  const token = readFileSync(file, 'utf8').trim();
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (const path of ['/_platform/status', '/metrics', '/_platform/logs?project=shop'])
    assert.deepEqual(
      [await ask('', path), await ask('Bearer '.padEnd(71, '0'), path), await ask(`Bearer ${token}`, path)],
      [401, 401, 200],
    );
  assert.equal(await ask('', '/_platform/health'), 200);
});
