// A build that attacks the platform and its neighbours over the network, or tries to gain rights.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, connect, type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import { buildIn, openBuildPlace, possibleWays, workerWith } from '#test/setup/confined-builds.ts';

const WITH_NETWORK = (await possibleWays()).filter(
  ({ confinement }) => confinement.fence !== undefined && confinement.sharesNetwork !== true,
);

/** Prints the result of connections to ports, to abstract sockets, and through the proxy. */
const PROBE = `
import net from 'node:net';
const [, , port, name, ...targets] = process.argv;
const say = (...words) => console.log('said', ...words);
const end = (socket) => new Promise((done) => {
  let text = '';
  socket.setTimeout(5000, () => done('silent'));
  socket.on('data', (chunk) => { text += chunk; if (text.includes('\\n')) done(text.split('\\n')[0].trim()); });
  socket.on('error', ({ code }) => done(code)).on('close', () => done(text || 'closed'));
});
say('loopback', await end(net.connect(+port, '127.0.0.1')));
say('abstract', await end(net.connect({ path: '\\0' + name })));
for (const target of targets) {
  const socket = net.connect(3128, '127.0.0.1');
  socket.write('CONNECT ' + target + ' HTTP/1.1\\r\\nhost: ' + target + '\\r\\n\\r\\n');
  say(target, (await end(socket)).split(' ')[1]);
}
const server = net.createServer().listen(0, '0.0.0.0', async () => {
  say('listens', server.address().port);
  await new Promise((done) => setTimeout(done, 1500));
  process.exit();
});
`;

for (const { name, confinement } of WITH_NETWORK)
  describe(`a build, confined by ${name}`, () => {
    test('reaches no port and no abstract socket of the machine, directly or by its proxy, and the machine reaches none of it', async (t) => {
      const tcp = createServer((socket) => socket.end('the platform\n')).listen(0, '0.0.0.0');
      await once(tcp, 'listening');
      const abstract = `of-the-platform-${process.pid}-${confinement.fence!.length}`;
      const local = createServer((socket) => socket.end('the platform\n')).listen(`\0${abstract}`);
      await once(local, 'listening');
      t.after(() => (tcp.close(), local.close()));
      const { port } = tcp.address() as AddressInfo;
      const own = Object.values(networkInterfaces())
        .flat()
        .find((each) => each?.family === 'IPv4' && !each.internal)?.address;
      const hosts = [
        '127.0.0.1',
        'localhost',
        '[::1]',
        '0.0.0.0',
        '169.254.169.254',
        '10.0.0.1',
        ...(own ? [own] : []),
      ];
      const targets = hosts.map((host) => `${host}:${port}`);
      const place = openBuildPlace(t);
      place.commit({
        ...workerWith(PROBE, 'hostile.mjs'),
        'platform.yaml': `kind: worker\nname: shop\nbuild: node hostile.mjs ${port} ${abstract} ${targets.join(' ')}\n`,
      });
      let reached: Promise<unknown> | null = null;
      let text = '';
      const { log } = await buildIn(place, confinement, {
        onOutput: (_step, _level, chunk) => {
          text += Buffer.from(chunk).toString();
          const [, listening] = /^said listens (\d+)$/m.exec(text) ?? [];
          if (listening === undefined || reached !== null) return;
          reached = new Promise((resolve) => {
            connect(Number(listening), '127.0.0.1', () => resolve('connected')).on(
              'error',
              ({ code }: NodeJS.ErrnoException) => resolve(code),
            );
          });
        },
      });
      const said = Array.from(text.matchAll(/^said (\S+) (\S+)/gm), ([, what, how]) => `${what} ${how}`);
      assert.deepEqual(
        said.filter((line) => !line.startsWith('listens')),
        ['loopback ECONNREFUSED', 'abstract ECONNREFUSED', ...targets.map((target) => `${target} 403`)],
        log,
      );
      assert.equal(await reached, 'ECONNREFUSED');
    });

    test('asks for many connections at a time, and the builder holds a bounded number', async (t) => {
      const place = openBuildPlace(t);
      const script = `
        import net from 'node:net';
        let open = 0, refused = 0;
        for (let n = 0; n < 400; n++) net.connect('/run/outbound/out.sock').on('connect', () => open++)
          .on('data', (d) => String(d).startsWith('EMFILE') && refused++).on('error', () => {});
        setTimeout(() => { console.log('said', open, refused > 100); process.exit(); }, 2000);`;
      place.commit(workerWith(script, 'hostile.mjs'));
      const { log, result } = await buildIn(place, confinement);
      assert.equal(result?.kind, 'dynamic', log);
      assert.match(log, /^said 400 true$/m);
    });
  });

for (const { name, confinement } of (await possibleWays()).filter((way) => way.confinement.filter !== undefined))
  test(`a build, confined by ${name}, makes no user namespace`, async (t) => {
    const place = openBuildPlace(t);
    const tries = ['unshare --user true', 'unshare --user --map-root-user true', 'unshare --user --fork --pid true'];
    place.commit(workerWith(`${tries.map((each) => `${each} 2>&1 && echo "could ${each}"`).join('\n')}\necho tried`));
    const { log } = await buildIn(place, confinement);
    assert.match(log, /^tried$/m);
    assert.doesNotMatch(log, /could/);
  });
