// `platform dev` runs the build command of a project: before anything else, again when what it is made from changes,
// and never because of what it wrote itself. The command is real, and counts its runs; the engine only records what it
// is given.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { startSession } from '#cli/dev/session.ts';
import { formatFailure, failuresOf } from '#cli/terminal/failure.ts';
import { loadProject } from '#cli/project/project.ts';
import type { Manifest } from '#core/manifest.ts';
import { until } from '#test/setup/until.ts';
import { recordingShell } from '../recording-shell.ts';

interface Served {
  readonly manifest: Manifest;
  readonly code: string | null;
  asset(name: string): string;
}

/** Values that come later, in order. */
function stream<T>(): { push(value: T): void; next(): Promise<T> } {
  const values: T[] = [];
  const takers: ((value: T) => void)[] = [];
  return {
    push(value) {
      const taker = takers.shift();
      if (taker) taker(value);
      else values.push(value);
    },
    next: () => new Promise((resolve) => (values.length > 0 ? resolve(values.shift()!) : takers.push(resolve))),
  };
}

async function session(t: TestContext, files: Record<string, string>) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'dev-build-')));
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  const served = stream<Served>();
  const failures = stream<string>();
  const warnings = stream<string>();
  const shell = recordingShell(folder);
  const stopped = Promise.withResolvers<void>();
  const running = startSession({
    folder,
    watching: true,
    stopped: stopped.promise,
    load: () => loadProject(shell, folder, null),
    engine: {
      port: 1,
      deploy({ artifactFolder }) {
        const read = (name: string): string => readFileSync(path.join(artifactFolder, name), 'utf8');
        const manifest = JSON.parse(read('manifest.json')) as Manifest;
        const names = Object.keys(manifest.assets?.files ?? {});
        const assets = new Map(names.map((name) => [name, read(`assets/${name}`)]));
        served.push({
          manifest,
          code: manifest.worker && read('worker.js'),
          asset: (name) => assets.get(name) ?? 'none',
        });
        return Promise.resolve();
      },
      fail: () => {},
      close: () => Promise.resolve(),
    },
    events: {
      served: () => {},
      built: () => {},
      warned: warnings.push,
      failed: (error) => failures.push(failuresOf(error).map(formatFailure).join('\n')),
    },
  });
  const end = async (): Promise<void> => {
    stopped.resolve();
    await (await running).close();
  };
  t.after(async () => {
    await end();
    rmSync(folder, { recursive: true });
  });
  const runs = (): number => readFileSync(path.join(folder, 'node_modules/runs'), 'utf8').length;
  const read = (name: string): string =>
    existsSync(path.join(folder, name)) ? readFileSync(path.join(folder, name), 'utf8') : '';
  return { write, read, runs, end, served: served.next, failed: failures.next, warned: warnings.next };
}

/** Each run leaves a letter where nobody watches. */
const MAKE = 'mkdir -p node_modules dist\nprintf x >> node_modules/runs\n';
const PAGE = `${MAKE}cp page.html dist/index.html\n`;

test('a site is made first, and again when its sources change', async (t) => {
  const dev = await session(t, {
    'platform.yaml': 'kind: static\nbuild: sh make.sh\n',
    'make.sh': PAGE,
    'page.html': 'one',
  });
  assert.equal((await dev.served()).asset('index.html'), 'one');
  dev.write('page.html', 'two');
  assert.equal((await dev.served()).asset('index.html'), 'two');
  assert.equal(dev.runs(), 2);
});

test('a worker that the command makes is served, and made again', async (t) => {
  const dev = await session(t, {
    'platform.yaml': 'kind: dynamic\nbuild: sh make.sh\nmain: dist/worker.js\n',
    'make.sh': `${MAKE}cp app.js dist/worker.js\n`,
    'app.js': 'export default { fetch: () => new Response("one") };',
  });
  assert.match((await dev.served()).code ?? '', /one/);
  dev.write('app.js', 'export default { fetch: () => new Response("two") };');
  assert.match((await dev.served()).code ?? '', /two/);
});

test('a first build that fails is told with its output, and its repair is served', async (t) => {
  const dev = await session(t, {
    'platform.yaml': 'kind: static\nbuild: sh make.sh\nout: dist\n',
    'make.sh': `${MAKE}echo no page today >&2; exit 4\n`,
    'dist/index.html': 'stale',
  });
  assert.match(await dev.failed(), /ended with exit code 4:\nno page today/);
  dev.write('make.sh', `${MAKE}printf repaired > dist/index.html\n`);
  assert.equal((await dev.served()).asset('index.html'), 'repaired');
});

test('a command that writes among its sources does not follow itself', async (t) => {
  const dev = await session(t, {
    'platform.yaml': 'build: sh make.sh\nout: web\n',
    'make.sh': `${MAKE}mkdir -p web; cp page.txt web/index.html
printf 'export const text = "%s";' "$(cat page.txt)" > src/made.ts\n`,
    'page.txt': 'one',
    'src/index.ts': 'import { text } from "./made.ts"; export default { fetch: () => new Response(text) };',
  });
  assert.match((await dev.served()).code ?? '', /"one"/);
  dev.write('page.txt', 'two');
  let last = await dev.served();
  while (last.asset('index.html') !== 'two' || !last.code?.includes('"two"')) last = await dev.served();
  // At most one more for each, to learn that its own file does not change any more.
  assert.ok(dev.runs() <= 4, String(dev.runs()));
});

test('what is saved while the command runs is built in the end, three times in a row too', async (t) => {
  const dev = await session(t, {
    'platform.yaml': 'kind: static\nbuild: sh make.sh\n',
    'make.sh': `${PAGE}run=$(wc -c < node_modules/runs)
while [ $run -le 2 ] && [ ! -e node_modules/go-$run ]; do sleep 0.02; done\n`,
    'page.html': 'edit 0',
  });
  for (let run = 1; run <= 2; run++) {
    await until(() => dev.read('node_modules/runs').length === run && dev.read('dist/index.html') !== '');
    dev.write('page.html', `edit ${run}`);
    dev.write(`node_modules/go-${run}`, '');
  }
  const comes = async (text: string): Promise<void> => {
    while ((await dev.served()).asset('index.html') !== text);
  };
  await comes('edit 2');
  dev.write('page.html', 'later');
  await comes('later');
});

test('a file that the command writes anew each time is named, and left out', async (t) => {
  const dev = await session(t, {
    'platform.yaml': 'kind: static\nbuild: sh make.sh\n',
    'make.sh': `${PAGE}cat /proc/sys/kernel/random/uuid > stamp.json\n`,
    'page.html': 'one',
  });
  assert.equal(
    await dev.warned(),
    'The build command rewrites stamp.json on every run: changes to it do not trigger a build',
  );
  const runs = dev.runs();
  assert.ok(runs <= 4, String(runs));
  dev.write('page.html', 'two');
  let last = await dev.served();
  while (last.asset('index.html') !== 'two') last = await dev.served();
  assert.equal(dev.runs(), runs + 1);
});

test('a command that does not end is ended with the session', async (t) => {
  const dev = await session(t, {
    'platform.yaml': 'kind: static\nbuild: sh make.sh\n',
    'make.sh': `${MAKE}echo $$ > node_modules/pid; exec sleep 600\n`,
  });
  const pid = await until(() => Number(dev.read('node_modules/pid')) || null);
  await dev.end();
  await until(() => !isRunning(pid));
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
