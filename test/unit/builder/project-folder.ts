// Projects for the builder's tests: a temporary folder of files, and the evaluation of a bundle where there is no Node.
import { mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { runInNewContext } from 'node:vm';
import { bundle, type Bundle } from '#builder/bundle/bundle.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';

/** Writes files into a fresh folder that goes with the test. `name` is the last part of its path. */
export function projectFolder(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
  name = 'project',
): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'builder-')));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, name);
  mkdirSync(root);
  writeFiles(root, files);
  return root;
}

export function writeFiles(root: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

/** The configuration that a platform.yaml of this text gives. */
export function configOf(yaml = ''): ProjectConfig {
  const { config, problems } = parseProjectConfig(yaml, { file: 'platform.yaml' });
  if (config === null) throw new Error(problems.map(({ message }) => message).join());
  return config;
}

/** Bundles `src/index.ts` (or another entry) of a project made of these files. */
export function bundleFiles(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
  options: { entry?: string; nodeCompat?: boolean; workflowClasses?: Readonly<Record<string, string>> } = {},
): Promise<Bundle> {
  const root = projectFolder(t, files);
  return bundle({
    root,
    entry: join(root, options.entry ?? Object.keys(files)[0]!),
    nodeCompat: options.nodeCompat ?? true,
    workflowClasses: options.workflowClasses ?? {},
  });
}

/** The Web's part of a global scope; what a worker sees besides ECMAScript. */
const webGlobals = {
  AbortController,
  AbortSignal,
  Blob,
  Headers,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  WebAssembly: (globalThis as Record<string, unknown>)['WebAssembly'],
  atob,
  btoa,
  clearTimeout,
  console,
  crypto,
  fetch,
  performance,
  queueMicrotask,
  setTimeout,
  structuredClone,
};

/** The default export of a bundle, evaluated in a context without `process`, `Buffer`, `require` or any Node module. */
export function evaluate(code: string, globals: Readonly<Record<string | symbol, unknown>> = {}): unknown {
  const script = code.replace(/^export \{ (\S+) as default \};$/m, 'return $1;');
  return runInNewContext(`(function () { ${script}\n})()`, { ...webGlobals, Uint8Array, ArrayBuffer, ...globals });
}

/** Bundles the files and evaluates them: what the worker's default export became. */
export async function run<T = Record<string, (...args: unknown[]) => unknown>>(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
  globals: Readonly<Record<string | symbol, unknown>> = {},
  workflowClasses: Readonly<Record<string, string>> = {},
): Promise<T> {
  return evaluate((await bundleFiles(t, files, { workflowClasses })).code, globals) as T;
}

/** A plain copy of a value from another realm, for deep comparison. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
