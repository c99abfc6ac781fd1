// What is to be run: the `.any.js` files of each area with their includes and variants. Reads the suite, runs nothing.
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';

/** Areas of the table, in its order; each is a folder of the suite. */
export const areas = [
  'url',
  'encoding',
  'streams',
  'dom/abort',
  'dom/events',
  'FileAPI',
  'html/webappapis/structured-clone',
  'html/webappapis/atob',
  'html/webappapis/timers',
  'html/webappapis/microtask-queuing',
  'console',
  'compression',
  'WebCryptoAPI',
  'performance-timeline',
  'user-timing',
  'hr-time',
  'wasm/jsapi',
  'wasm/webapi',
] as const;

/** The row of the files, one an area, that hold the interfaces against their definitions. */
export const interfaceArea = 'interfaces (idlharness)';

/** One page: a file with one of its variants. */
export interface WptCase {
  readonly area: string;
  /** Path in the suite and the variant's query: `url/url-constructor.any.js?include=file`. */
  readonly id: string;
  readonly file: string;
  readonly variant: string;
  /** Paths of the scripts to run before the file. */
  readonly includes: readonly string[];
  /** The file asks for a long timeout. */
  readonly isLong: boolean;
  /** Hash of the file's text: expectations hold for that text only. */
  readonly hash: string;
}

/**
 * Where a script of the suite lies. The parser of interface definitions, which the suite lacks, is the npm package it
 * was built from.
 */
export function scriptFile(folder: string, path: string): string {
  return path === 'resources/WebIDLParser.js' ? createRequire(import.meta.url).resolve('webidl2') : join(folder, path);
}

/** The cases of the areas, in a fixed order. */
export function listCases(folder: string, wanted: readonly string[] = areas): WptCase[] {
  return wanted.flatMap((area) =>
    globSync('**/*.any.js', { cwd: join(folder, area) })
      .sort()
      .flatMap((name) => readCases(folder, area, posix.join(area, name))),
  );
}

function readCases(folder: string, area: string, file: string): WptCase[] {
  const text = readFileSync(join(folder, file), 'utf8');
  const metas = [...text.matchAll(/^\/\/\s*META:\s*(\w+)=(.*)$/gm)].map(
    ([, key, value]) => [key, value!.trim()] as const,
  );
  const all = (key: string): string[] => metas.filter(([name]) => name === key).map(([, value]) => value);
  const global = all('global')[0]?.split(',') ?? ['window', 'dedicatedworker'];
  if (!global.some((name) => name === 'window' || name.includes('worker'))) return [];
  const includes = all('script').map((script) =>
    script.startsWith('/') ? script.slice(1) : posix.join(dirname(file), script),
  );
  // Debian takes out what it has no source for.
  if (!includes.every((script) => existsSync(scriptFile(folder, script)))) return [];
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
  const variants = all('variant');
  return (variants.length === 0 ? [''] : variants).map((variant) => ({
    area: /\/idlharness\./.test(file) ? interfaceArea : area,
    id: file + variant,
    file,
    variant,
    includes,
    isLong: all('timeout').includes('long'),
    hash,
  }));
}
