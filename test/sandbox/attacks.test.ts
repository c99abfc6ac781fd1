// What code in a sandbox tries against the machine, its neighbours and the service: each attempt ends inside, and a
// neighbour goes on answering.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, before, describe } from 'node:test';
import { askerOf, type Asker } from '#test/contract/sandbox-asker.ts';
import { attackTable } from '#test/setup/attack-table.ts';
import { engineName, machine, openTestContainers, type TestContainers } from '#test/setup/sandbox-containers.ts';
import { eventually } from '#test/setup/whole-platform.ts';

describe(`attacks from sandboxes of ${engineName}`, () => {
  let containers: TestContainers;
  const [attacker, neighbour] = [machine('evil'), machine('shop')];
  let box: Asker;
  let other: Asker;

  before(async () => {
    containers = await openTestContainers({ memoryMb: 512, tasksMax: 64, diskMb: 64 });
    await Promise.all([containers.backend.create(attacker), containers.backend.create(neighbour)]);
    box = askerOf(containers.backend, attacker.key);
    other = askerOf(containers.backend, neighbour.key);
  });
  after(() => containers.close());

  /** The neighbour answers, and so does the attacker's own sandbox, if need be started again. */
  const contained = async (): Promise<string> => {
    const began = performance.now();
    assert.equal((await other.exec('echo fine')).stdout, 'fine\n');
    const neighbourMs = Math.round(performance.now() - began);
    await eventually('the sandbox of the attacker', async () => {
      if ((await containers.backend.state(attacker.key)) !== 'running') await containers.backend.resume(attacker);
      return (await box.exec('echo again')).stdout === 'again\n';
    });
    const ownMs = Math.round(performance.now() - began) - neighbourMs;
    return `neighbour answers in ${neighbourMs} ms, own sandbox in ${ownMs} ms`;
  };
  const attack = attackTable(`Attacks from sandboxes of ${engineName}`);

  attack('a fork bomb is held to the processes of its sandbox, and ends when that is stopped', async () => {
    await box.exec('b() { b | b & }; b; sleep 1; wait', { timeoutMs: 3000 }).catch(() => null);
    assert.equal((await other.exec('echo fine')).stdout, 'fine\n');
    await containers.backend.stop(attacker.key);
    return contained();
  });

  attack('memory beyond the limit ends the process that takes it', async () => {
    const hog = 'const held = []; for (;;) held.push(Buffer.alloc(8_000_000, 1));';
    const result = await box.exec(['/opt/platform-sandbox/node', '-e', hog], { timeoutMs: 60_000 }).catch(() => null);
    assert.notEqual(result?.success, true);
    return contained();
  });

  attack('a full disk is its own, and is said', async () => {
    const { exitCode, stderr } = await box.exec('head -c 500000000 /dev/zero > big');
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /No space left on device/);
    await other.write('room.txt', 'x'.repeat(1_000_000));
    await box.exec('rm big');
    return contained();
  });

  attack('memory as files is memory', async () => {
    const { exitCode } = await box.exec('head -c 500000000 /dev/zero > /tmp/big; code=$?; rm -f /tmp/big; exit $code');
    assert.notEqual(exitCode, 0);
    return contained();
  });

  attack('a gigabyte of output is cut, and costs the service little', async () => {
    const before = process.memoryUsage().rss;
    const result = await box.exec('head -c 1000000000 /dev/zero', { timeoutMs: 120_000 });
    assert.equal(result.truncated, true);
    assert.ok(result.stdout.length <= 10 * 1024 * 1024);
    assert.ok(process.memoryUsage().rss - before < 300_000_000);
    return contained();
  });

  attack('what ignores signals is killed at its time limit', async () => {
    const result = await box.exec(`trap '' TERM INT HUP; while :; do sleep 1; done`, { timeoutMs: 300 });
    assert.equal(result.timedOut, true);
    const left = await box.exec(
      `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; done | grep -c 'trap .. TERM' || true`,
    );
    assert.equal(left.stdout, '1\n');
    return contained();
  });

  attack('its own agent may be killed, frozen and starved: that is its own loss', async () => {
    await box.exec('kill -STOP $PPID; kill -9 $PPID; kill -9 -1', { timeoutMs: 2000 }).catch(() => null);
    return contained();
  });

  attack('garbage instead of answers ends the connection and nothing else', async () => {
    const garbage = 'for fd in /proc/$PPID/fd/1 /proc/1/fd/1; do head -c 300000 /dev/urandom > $fd; done';
    await box.exec(garbage, { timeoutMs: 5000 }).catch(() => null);
    return contained();
  });

  attack('no address leads anywhere: not the host, not the metadata, not its neighbours', async () => {
    const server = createServer((socket) => void socket.end('secret of the host'));
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    const { port } = server.address() as { port: number };
    try {
      const own = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
      const targets = ['127.0.0.1', '169.254.169.254', '10.0.0.1', '172.17.0.1', '192.168.0.1', '[::1]', 'localhost'];
      for (const address of [...targets, ...own.map((one) => (one.includes(':') ? `[${one.split('%')[0]}]` : one))]) {
        const direct = await box.exec(`curl -s -m 3 --noproxy '*' http://${address}:${port}/`);
        assert.notEqual(direct.exitCode, 0, address);
        const asked = await box.exec(`curl -s -m 3 --noproxy '' http://${address}:${port}/`);
        assert.doesNotMatch(asked.stdout, /secret of the host/, address);
        const tunnel = await box.exec(`curl -s -m 3 --noproxy '' -p http://${address}:${port}/`);
        assert.notEqual(tunnel.exitCode, 0, address);
      }
      assert.equal((await box.exec(`ls /sys/class/net`)).stdout, 'lo\n');
    } finally {
      server.close();
    }
    return contained();
  });

  attack('a name that leads to a private address is refused with the reason', async () => {
    const { stdout } = await box.exec(`curl -s -m 5 http://169.254.169.254/latest/meta-data/`);
    assert.match(stdout, /EACCES sandboxes may not reach 169\.254\.169\.254: it is not a public address/);
    return contained();
  });

  attack('ten thousand sockets and every port are its own', async () => {
    const many = `const net = require('node:net');
      for (let port = 1024; port < 6000; port++) net.createServer().on('error', () => {}).listen(port);
      for (let i = 0; i < 10000; i++) net.connect(3128, '127.0.0.1').on('error', () => {}).write('CONNECT 127.0.0.1:1 HTTP/1.1\\r\\n\\r\\n');
      setTimeout(() => process.exit(0), 1500);`;
    await box.exec(['/opt/platform-sandbox/node', '-e', many], { timeoutMs: 20_000 }).catch(() => null);
    return contained();
  });

  attack('it is no root, gains no privileges, and has a read-only system', async () => {
    const { stdout } = await box.exec(
      `id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; touch /etc/x /usr/x /opt/platform-sandbox/x; echo $?`,
    );
    const lines = stdout.split('\n').map((line) => line.replace(/\s+/g, ' '));
    assert.deepEqual(lines, [
      '1000',
      'CapEff: 0000000000000000',
      'CapBnd: 0000000000000000',
      'NoNewPrivs: 1',
      'Seccomp: 2',
      '1',
      '',
    ]);
    return contained();
  });

  attack('neither the socket of the engine nor a device nor a mount is there to be used', async () => {
    const { stdout } = await box.exec(
      `ls /var/run/docker.sock /run/docker.sock /run/podman 2>/dev/null; ls /dev | grep -E '^(sd|vd|loop|kvm|mem|kmsg)'; mount -t tmpfs none /tmp 2>/dev/null && echo mounted; echo 1 > /proc/sysrq-trigger 2>/dev/null && echo sysrq; true`,
    );
    assert.equal(stdout, '');
    return contained();
  });

  attack('a link out of the workspace leads to the sandbox itself, not to the host', async () => {
    await box.exec('ln -sf / out; ln -sf /proc/1/root/etc/hostname name; echo inside > /tmp/marker');
    assert.equal(await box.read('out/tmp/marker'), 'inside\n');
    assert.equal(existsSync('/tmp/marker'), false);
    await box.exec('rm -f out name /tmp/marker');
    return contained();
  });
});
