// Packages that are built on durable objects, in workers of test/objects/packages/, in `platform dev`; and pages for
// them, bundled for a browser with the clients of these packages.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';

export const objectPackages = join(import.meta.dirname, '../objects/packages');

/** Why they cannot run here; false: they can. */
export const objectPackagesMissing = existsSync(join(objectPackages, 'node_modules'))
  ? false
  : 'run: npm ci --prefix test/objects/packages';

/** What is run. */
interface ObjectWorker {
  /** File of `workers/` without its end. */
  readonly worker: string;
  /** `object:` of platform.yaml, and other lines. */
  readonly objects: string;
  readonly settings?: string;
  /** File of `pages/` without its end, served at `/`; absent: no page. */
  readonly page?: string;
}

/** Runs a worker until `run` has ended. */
export async function withObjectWorker(
  { worker, objects, settings = '', page }: ObjectWorker,
  run: (dev: TestDev) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-dev-'));
  await mkdir(join(folder, 'src'));
  await symlink(join(objectPackages, 'node_modules'), join(folder, 'node_modules'));
  await copyFile(join(objectPackages, 'workers', `${worker}.js`), join(folder, 'src/index.js'));
  if (page !== undefined) await writePage(page, join(folder, 'public'));
  const pages = page === undefined ? '' : 'out: public\n';
  await writeFile(
    join(folder, 'platform.yaml'),
    `compatibility_date: '2026-07-01'\nobject: ${objects}\n${pages}${settings}`,
  );
  const dev = await startDevHere(folder);
  try {
    await run(dev);
  } finally {
    await dev.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function writePage(name: string, folder: string): Promise<void> {
  await mkdir(folder);
  const bundle = await rolldown({ input: join(objectPackages, 'pages', `${name}.js`), platform: 'browser' });
  await bundle.write({ file: join(folder, 'page.js'), format: 'esm', codeSplitting: false });
  await bundle.close();
  await writeFile(
    join(folder, 'index.html'),
    '<!doctype html><html lang="en"><title>Page</title><body><script type="module" src="/page.js"></script></body></html>',
  );
}
