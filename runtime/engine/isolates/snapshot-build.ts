// Child process of snapshot.ts: bundles the guest and writes its snapshot, preceded by the lazy scripts.
// `snapshot-build.ts <main.ts> <partial> <file> <magic> <key>`.
import { createHash } from 'node:crypto';
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import ivm from 'isolated-vm';
import { rolldown } from 'rolldown';
import { nativeFile } from './native.ts';
import { readContexts } from './snapshot-contexts.ts';
import { warmUpScript } from './snapshot-warm-up.ts';
import type { LazyScript } from './snapshot.ts';

const [entry, partial, file, magic, key] = process.argv.slice(2) as [string, string, string, string, string];

const FOLDERS = ['lazy', 'bindings', 'events'];

/**
 * Whether a file is in the snapshot. Lazy scripts receive what they import from such files as a parameter, `deps`
 * (LazyDeps of guest/lazy.ts).
 */
function isInSnapshot(file: string): boolean {
  const path = relative(dirname(entry), file);
  return path.endsWith('.ts') && !path.startsWith('..') && !FOLDERS.includes(path.split(sep)[0]!);
}

function globalOf(file: string): string {
  return basename(file) === 'webidl.ts' ? 'deps.webidl' : 'deps';
}

/**
 * Bundles a module of the guest with all its imports into one script; for a lazy module (`name`), without the files in
 * the snapshot.
 */
async function scriptOf(input: string, name?: string): Promise<string> {
  const bundle = await rolldown({
    input,
    external: (id, importer) =>
      importer !== undefined && name !== undefined && isInSnapshot(resolve(dirname(importer), id)),
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'default'] },
    transform: { target: 'es2024' },
    onLog(level, log) {
      if (level === 'warn' && log.code !== 'EVAL') throw new Error(log.message);
    },
  });
  // The source is minified for a smaller snapshot; names are kept for stack traces and for `constructor.name`.
  const minify = {
    compress: true,
    mangle: { toplevel: false, keepNames: { function: true, class: true } },
    codegen: { removeWhitespace: true },
  };
  const shape = name === undefined ? {} : { name, exports: 'auto' as const, globals: globalOf };
  const { output } = await bundle.generate({
    format: 'iife',
    codeSplitting: false,
    comments: { legal: false },
    minify,
    ...shape,
  });
  await bundle.close();
  // The bundler drops the strict directive of modules. Through a sloppy function, tenants could reach its caller, its
  // arguments, and in Error.prepareStackTrace the function itself, and so an invocation and its account.
  return `'use strict';${output[0].code}`;
}

// Modules of lazy/ are identified by name, modules of other folders by path.
const scriptsByName: Record<string, string> = {};
for (const folder of FOLDERS) {
  for (const file of readdirSync(join(dirname(entry), folder))) {
    if (!file.endsWith('.ts')) continue;
    const name = folder === 'lazy' ? basename(file, '.ts') : `${folder}/${basename(file, '.ts')}`;
    const script = await scriptOf(join(dirname(entry), folder, file), 'created');
    // Evaluates to a function that creates the module's exports, and leaves no variable behind.
    scriptsByName[name] = `(deps=>{${script}\nreturn typeof created==='function'?created(deps):created})`;
  }
}

const addon = { exports: {} as { createSnapshot(code: Uint8Array, warmUp: Uint8Array): ArrayBuffer } };
process.dlopen(addon, nativeFile('snapshot'));
const buffer = addon.exports.createSnapshot(Buffer.from(await scriptOf(entry)), Buffer.from(warmUpScript()));
const snapshot = Buffer.from(buffer);
readContexts(buffer);

// V8 accepts code caches only in isolates of the snapshot that they were created with.
const isolate = new ivm.Isolate({ snapshot: new ivm.ExternalCopy(buffer) });
type Compiled = ivm.Script & { readonly cachedData: ivm.ExternalCopy<ArrayBuffer> };
const lazy: Record<string, LazyScript> = {};
for (const [name, code] of Object.entries(scriptsByName)) {
  const compiled = isolate.compileScriptSync(code, {
    filename: `platform:${name}`,
    produceCachedData: true,
  }) as Compiled;
  lazy[name] = { code, cache: Buffer.from(compiled.cachedData.copy()).toString('base64') };
}
isolate.dispose();
const scripts = Buffer.from(JSON.stringify(lazy));
const scriptsLength = Buffer.alloc(4);
scriptsLength.writeUInt32LE(scripts.byteLength);

const body = Buffer.concat([scriptsLength, scripts, snapshot]);
writeFileSync(
  partial,
  Buffer.concat([
    Buffer.from(magic, 'latin1'),
    Buffer.from(key, 'latin1'),
    Buffer.from(createHash('sha256').update(body).digest('hex'), 'latin1'),
    body,
  ]),
  { mode: 0o600 },
);
renameSync(partial, file);
