// `npm run bench loaded`: the modules that each process of `npm start` loads at the second start, with memory, CPU, and
// the imports that load many modules. Counting costs CPU itself: compare with `npm run bench idle`. BENCH_MODULES=10
// omits imports that load fewer modules. Linux only.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './cleanup.ts';
import { cpuSecondsOf, nameOf, pssOf, whileIdle } from './idle-platform.ts';
import { loadedBy, type Bringer, type Edge } from './module-graph.ts';
import { root } from './packed-programs.ts';
import { digits, formatTable } from './statistics.ts';

const MODULES_MIN = Number(process.env['BENCH_MODULES'] ?? 10);
const BRINGERS_MAX = 12;

const folder = temporaryFolder();
const lists = path.join(folder, 'loaded');
mkdirSync(lists);
const hook = path.join(import.meta.dirname, 'loaded-modules.mjs');
const variables = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${hook}`, LOADED_FOLDER: lists };

try {
  await whileIdle(root, folder, {}, () => null);
  const found = await whileIdle(root, folder, variables, (pids) =>
    pids.map((pid) => ({ name: nameOf(pid), pid, megabytes: pssOf(pid), cpuS: cpuSecondsOf(pid).own })),
  );
  const shown = found.flatMap((one) => {
    const list = path.join(lists, `${one.pid}.json`);
    if (!existsSync(list)) return [];
    return [{ ...one, loaded: loadedBy(JSON.parse(readFileSync(list, 'utf8')) as Edge[], MODULES_MIN) }];
  });
  const rows = shown.map(({ name, megabytes, cpuS, loaded }) => [
    name,
    loaded.modules,
    loaded.ofPackages,
    loaded.kilobytes,
    megabytes,
    cpuS,
  ]);
  const head = ['process', 'modules', 'of packages', 'source KB', 'PSS MB', 'CPU s'];
  process.stdout.write(`${formatTable(head, rows)}\n`);
  const told = new Set<string>();
  for (const { name, loaded } of shown) {
    if (told.has(name)) continue;
    told.add(name);
    const lines = loaded.bringers.slice(0, BRINGERS_MAX).map((bringer) => `  ${lineOf(bringer)}`);
    process.stdout.write(`\n${name}: imports that alone bring ${MODULES_MIN} modules or more\n${lines.join('\n')}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function lineOf({ module, importers, modules, kilobytes }: Bringer): string {
  const by = importers.length === 1 ? shortOf(importers[0]!) : `${importers.length} modules`;
  return `${String(modules).padStart(4)} modules, ${digits(kilobytes)} KB: ${shortOf(module)}, of ${by}`;
}

/** A path in the repository, or what follows the last node_modules/. */
function shortOf(url: string): string {
  if (!url.startsWith('file:')) return 'the process';
  const file = fileURLToPath(url);
  return file.includes('/node_modules/') ? file.split('/node_modules/').at(-1)! : path.relative(root, file);
}
