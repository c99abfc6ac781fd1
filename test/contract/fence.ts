// The contract of programs that make namespaces (core/process/confinement/): what a confined program has, sees and may
// do. Held by bubblewrap and by our own, each as root with a user id for the program and with the platform's own user.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod, chown } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { confinedCommand, nodeFolders, uidOf } from '#core/process/confinement/command-line.ts';
import { confinementOf } from '#core/process/confinement/confinement.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import { until } from '#test/setup/until.ts';

/** How a program ended. */
interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
  /** What the fence said of it. */
  readonly info: string;
}

/** How it differs from the usual. */
interface Wishes {
  readonly tmp?: number;
  /** Stands around the whole command. */
  readonly around?: readonly string[];
  readonly input?: string;
  readonly isOnline?: boolean;
}

const NAMES = { own: 'our own', bwrap: 'bubblewrap' } as const;
const WAYS = {
  'with a user id of its own': ['uid', 'namespaces'],
  "as the platform's user": ['namespaces'],
} as const;
/** How the platform starts it for this user. */
export const WAY_HERE = process.getuid?.() === 0 ? 'with a user id of its own' : "as the platform's user";

const SLOT = process.pid % 256;
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', SAID: 'hello' };

/** The suite over a program, started in a way; where it does not work a skip says why. */
export async function fenceSuite(program: keyof typeof NAMES, way: keyof typeof WAYS): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fences-'));
  await chmod(folder, 0o711);
  const confinement = await confinementOf({
    workFolders: folder,
    privateFolders: [],
    readable: nodeFolders(),
    needs: process.execPath,
    ways: WAYS[way],
    isOffline: true,
    environment: { PATH: process.env['PATH'], PLATFORM_FENCE: program },
  });
  rmSync(folder, { recursive: true, force: true });
  const name = `${NAMES[program]}, ${way}`;
  if (confinement.kind === 'namespaces') suiteOver(name, confinement);
  else test(name, { skip: confinement.reason ?? true }, () => {});
}

function suiteOver(name: string, confinement: Confinement): void {
  const uid = uidOf(confinement, SLOT);
  const folder = mkdtempSync(path.join(tmpdir(), 'fence-'));
  const of = (inside: string): string => path.join(folder, inside);

  function start(words: readonly string[], { tmp = 1_000_000, around = [], input, isOnline = false }: Wishes = {}) {
    const { file, args } = confinedCommand(
      confinement,
      {
        slot: SLOT,
        cwd: of('own'),
        writable: [of('own')],
        readable: [
          ...nodeFolders().map((each) => [each, each] as const),
          [of('shown'), '/shown'],
          [of('shown/file'), '/etc/passwd'],
        ],
        tmp,
        groups: [],
        processesMax: 512,
        fileBytesMax: 10_000_000,
        infoFd: 3,
        isOffline: !isOnline,
        hostname: 'inside',
      },
      words,
    );
    const [first, ...rest] = [...around, file, ...args];
    const child = spawn(first!, rest, {
      cwd: '/',
      env: ENVIRONMENT,
      detached: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    child.stdin?.end(input);
    return child;
  }

  async function run(words: readonly string[], wishes?: Wishes): Promise<Ended> {
    const child = start(words, wishes);
    const texts = [child.stdout!, child.stderr!, child.stdio[3] as Readable].map((stream) => text(stream));
    const [code] = (await once(child, 'close')) as [number | null];
    const [out, errors, info] = (await Promise.all(texts)) as [string, string, string];
    return { code, out, errors, info };
  }

  /** What a script writes. */
  async function said(script: string, wishes?: Wishes): Promise<string> {
    const { out, errors } = await run(['sh', '-c', script], wishes);
    return `${out}${errors}`.trim();
  }

  describe(name, () => {
    before(async () => {
      await chmod(folder, 0o711);
      for (const each of ['own', 'shown', 'private']) mkdirSync(of(each));
      mkdirSync(of('shown/below'));
      writeFileSync(of('shown/file'), 'ada:x:1:1::/:/bin/sh\n');
      writeFileSync(of('private/secret'), 'of the platform');
      if (uid !== null) await chown(of('own'), uid, uid);
    });
    after(() => rmSync(folder, { recursive: true, force: true }));

    test('a program has its words, variables, input, folder and name of the machine, and its exit code comes out', async () => {
      const script = 'printf "%s|" "$1" "$SAID" "$(cat)" "$(pwd)" "$(hostname)" "$(id -u)"; exit 7';
      const { code, out } = await run(['sh', '-c', script, 'sh', 'a word; $(id)'], { input: 'typed' });
      const expected = ['a word; $(id)', 'hello', 'typed', of('own'), 'inside', String(uid ?? process.getuid!()), ''];
      assert.deepEqual(out.split('|'), expected);
      assert.equal(code, 7);
      assert.equal((await run(['sh', '-c', 'kill -9 $$'])).code, 128 + 9);
      assert.notEqual((await run(['no-such-program'])).code, 0);
    });

    test('it sees the system, what it is shown, and nothing else of the files of the machine', async () => {
      const system = ['bin', 'dev', 'etc', 'lib', 'lib32', 'lib64', 'nix', 'proc', 'sbin', 'shown', 'tmp', 'usr'];
      const ofNode = [of('own'), ...nodeFolders()].map((each) => each.split('/')[1]!);
      const others = (await said('ls /')).split('\n').filter((each) => ![...system, ...ofNode].includes(each));
      assert.deepEqual(others, []);
      const script = `cat /shown/file /etc/passwd; ls ${of('private')} ${of('shown')} ${path.join(process.cwd(), 'package.json')} /proc/1/root/etc/shadow /sys 2>&1`;
      const lines = (await said(script)).split('\n');
      assert.deepEqual(lines.slice(0, 2), ['ada:x:1:1::/:/bin/sh', 'ada:x:1:1::/:/bin/sh']);
      assert.equal(lines.length, 7, lines.join('\n'));
      for (const line of lines.slice(2)) assert.match(line, /No such file or directory|Permission denied/);
    });

    test('it writes to its own folder, and to nothing that it is shown, also not to what is mounted below that', async () => {
      const script = `
        echo kept > mine && cat mine
        for each in / /dev /etc /usr /usr/bin /shown /shown/below; do
          (echo x > "$each/new") 2>/dev/null && echo "wrote to $each"
        done
        (echo x > /shown/file) 2>/dev/null && echo overwritten
        (cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness) 2>/dev/null && echo set
        ls /shown/below`;
      const own = process.getuid!() === 0 ? ['--mount'] : ['--mount', '--map-root-user'];
      const mounts = 'mount -t tmpfs none "$1" && touch "$1/mounted" && chmod 777 "$1" && shift && exec "$@"';
      const around = ['unshare', ...own, 'sh', '-c', mounts, 'sh', of('shown/below')];
      assert.equal(await said(script, { around }), 'kept\nmounted');
      assert.equal(await said(script), 'kept');
    });

    test('what it keeps in memory is bounded', async () => {
      const script = `
        for each in /tmp /dev/shm; do
          head -c 900000 /dev/zero > "$each/small" || echo "no room in $each"
          head -c 900000 /dev/zero 2>/dev/null > "$each/large" && echo "too much in $each"
          stat -c %a "$each"
        done 2>/dev/null`;
      assert.equal(await said(script), '1777\n1777');
    });

    test('it has no right, and no way to one', async () => {
      const status = await said('cat /proc/self/status');
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
        assert.match(status, new RegExp(`^${set}:\\s+0+$`, 'm'));
      assert.match(status, /^NoNewPrivs:\s+1$/m);
      const tries: string[] = [
        'unshare --user true',
        'unshare --user --map-root-user true',
        'mount -t tmpfs none /tmp',
        'mount -o remount,rw /usr',
        'umount /proc',
        'chroot / true',
        'mknod /tmp/x b 8 0',
      ];
      const script = tries.map((each) => `(${each}) >/dev/null 2>&1 && echo 'could: ${each}'`).join('\n');
      assert.equal(await said(`${script}\necho all`), 'all');
    });

    test('it sees no process but its own, and ends none of others', async () => {
      const script =
        'for each in /proc/[0-9]*; do tr "\\0" " " < $each/cmdline; echo; done; kill -9 -1; kill -9 1; exit 3';
      const { out, code } = await run(['sh', '-c', script]);
      const commands = out.split('\n').filter((line) => line !== '' && !/^(?:tr|sh) /.test(line));
      assert.equal(commands.length, 1, out);
      assert.match(commands[0]!, /^\S*(?:bwrap|fence-linux-\w+) --die-with-parent/);
      assert.ok(code === 3 || code === 137);
    });

    test('its network has a loopback of its own, and leads nowhere', async (t) => {
      const outside = createServer((socket) => socket.end('outside')).listen(0, '127.0.0.1');
      t.after(() => outside.close());
      await once(outside, 'listening');
      const script = `
        const net = require('node:net');
        const connect = (port) => new Promise((resolve) => {
          let text = '';
          net.connect(port, '127.0.0.1').on('data', (d) => (text += d)).on('end', () => resolve(text)).on('error', (e) => resolve(e.code));
        });
        const server = net.createServer((socket) => socket.end('inside')).listen(0, '127.0.0.1', async () => {
          console.log(await connect(server.address().port), await connect(${(outside.address() as AddressInfo).port}));
          console.log(Object.keys(require('node:os').networkInterfaces()).join());
          process.exit(0);
        });`;
      writeFileSync(of('own/connect.cjs'), script);
      assert.equal(await said(`${process.execPath} connect.cjs`), 'inside ECONNREFUSED\nlo');
    });

    test('it has no terminal of the platform, and a session of its own', async () => {
      // 0 is one that began outside.
      const session = await said('read -r pid name state parent group session rest < /proc/self/stat; echo $session');
      assert.match(session, /^[12]$/);
      assert.equal(await said('( : < /dev/tty ) 2>/dev/null || echo none'), 'none');
    });

    test('what it leaves running is gone when it has ended', async () => {
      const { out, info } = await run(['sh', '-c', 'setsid sleep 1000 >/dev/null 2>&1 & readlink /proc/self/ns/pid']);
      const space = Number(/\d+/.exec(out)![0]);
      assert.equal((JSON.parse(info) as Record<string, number>)['pid-namespace'], space);
      await until(() => processesIn(space).length === 0);
    });

    test('it ends with the program that fences it', async () => {
      const child = start(['sh', '-c', 'readlink /proc/self/ns/pid; setsid sleep 1000 & sleep 1000']);
      const [line] = (await once(child.stdout!, 'data')) as [Buffer];
      const space = Number(/\d+/.exec(String(line))![0]);
      assert.notEqual(processesIn(space).length, 0);
      process.kill(child.pid!, 'SIGKILL');
      await until(() => processesIn(space).length === 0);
    });

    test('a link in a folder of its own leads nobody out of it', async () => {
      rmSync(of('own/work'), { recursive: true, force: true });
      symlinkSync(of('private'), of('own/work'));
      const { file, args } = confinedCommand(
        confinement,
        {
          slot: SLOT,
          cwd: '/',
          writable: [of('own')],
          readable: [[of('shown/file'), of('own/work/shown')]],
          tmp: 1_000_000,
          groups: [],
          processesMax: 512,
          fileBytesMax: 1000,
        },
        ['true'],
      );
      await once(spawn(file, args, { cwd: '/', env: ENVIRONMENT, stdio: 'ignore' }), 'close');
      assert.deepEqual(readdirSync(of('private')), ['secret']);
      rmSync(of('own/work'));
    });
  });
}

/** Ids of what runs in a process namespace. */
function processesIn(space: number): string[] {
  return readdirSync('/proc').filter((id) => {
    try {
      return /^\d+$/.test(id) && readlinkSync(`/proc/${id}/ns/pid`) === `pid:[${space}]`;
    } catch {
      return false;
    }
  });
}
