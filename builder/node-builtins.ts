// Which of Node's modules exist and where a worker gets each from: builder/node/, unenv, or nowhere.
// Read by node-compat.ts and bundler-errors.ts. Pure.
import { builtinModules } from 'node:module';

/** Modules of builder/node/, whole: what unenv 2.0.0-rc.24 has as a stub or not at all. */
export const ownModules: readonly string[] = [
  'async_hooks',
  'buffer',
  'console',
  'events',
  'module',
  'process',
  'stream',
  'stream/consumers',
  'stream/promises',
  'string_decoder',
  'sys',
  'util',
  'util/types',
];

/** Modules of unenv that are used as they are. What is missing in them throws when it is called. */
export const unenvModules: readonly string[] = [
  'assert',
  'assert/strict',
  'constants',
  'diagnostics_channel',
  'os',
  'path',
  'path/posix',
  'path/win32',
  'perf_hooks',
  'punycode',
  'querystring',
  'stream/web',
  'timers',
  'timers/promises',
  'url',
];

/**
 * Every other module cannot work in a worker: importing it is fine, calling it throws. A few of their exports are plain
 * facts that libraries read while they load; those are real.
 */
export const realExports: Readonly<Record<string, { readonly from: 'own' | 'unenv'; readonly names: readonly string[] }>> = {
  crypto: {
    from: 'own',
    names: [
      'constants',
      'getRandomValues',
      'randomBytes',
      'randomFill',
      'randomFillSync',
      'randomInt',
      'randomUUID',
      'subtle',
      'timingSafeEqual',
      'webcrypto',
    ],
  },
  cluster: { from: 'unenv', names: ['isMaster', 'isPrimary', 'isWorker'] },
  fs: { from: 'unenv', names: ['constants', 'existsSync'] },
  http: { from: 'unenv', names: ['Agent', 'METHODS', 'STATUS_CODES', 'globalAgent', 'maxHeaderSize'] },
  https: { from: 'unenv', names: ['Agent', 'globalAgent'] },
  net: { from: 'unenv', names: ['isIP', 'isIPv4', 'isIPv6'] },
  tty: { from: 'unenv', names: ['isatty'] },
  worker_threads: { from: 'unenv', names: ['isMainThread', 'parentPort', 'threadId', 'workerData'] },
  zlib: { from: 'unenv', names: ['constants'] },
};

const names = new Set([...builtinModules.map((name) => name.replace(/^node:/, '')), 'sea', 'sqlite', 'test', 'test/reporters']);

/** Whether Node has a module of this name (without `node:`). */
export function isNodeBuiltin(name: string): boolean {
  return names.has(name);
}

/** Whether the module is only reachable with its `node:` prefix: the bare name is a package. */
export function needsPrefix(name: string): boolean {
  return name === 'sqlite' || name === 'sea' || name.startsWith('test');
}
