// node:util: the functions that libraries use, instead of unenv's stubs. Bundled into workers by node-compat.ts.
import { isDeepStrictEqual } from './deep-equal.ts';
import { parseArgs } from './parse-args.ts';
import { format, formatWithOptions, inspect } from './inspect.ts';
import { unavailable } from './unavailable.ts';
import types from './value-types.ts';

type Callback = (error: unknown, value?: unknown) => void;
type Fn = (...args: unknown[]) => unknown;

export const { isArray } = Array;
export const TextDecoder = globalThis.TextDecoder;
export const TextEncoder = globalThis.TextEncoder;

const promisifyCustom = Symbol.for('nodejs.util.promisify.custom');

function promisifyOne(fn: Fn): Fn {
  // setTimeout takes its callback first and not last, so it needs its own promise version.
  if ((fn as unknown) === globalThis.setTimeout)
    return (delay, value) => new Promise((resolve) => setTimeout(resolve, delay as number, value));
  const custom = (fn as unknown as Record<symbol, Fn | undefined>)[promisifyCustom];
  if (custom) return custom;
  return function (this: unknown, ...args) {
    return new Promise((resolve, reject) => {
      const done: Callback = (error, value) => (error ? reject(error) : resolve(value));
      fn.call(this, ...args, done);
    });
  };
}

export const promisify = /* @__PURE__ */ Object.assign(promisifyOne, { custom: promisifyCustom });

export function callbackify(fn: (...args: unknown[]) => Promise<unknown>): (...args: unknown[]) => void {
  return function (this: unknown, ...args) {
    const done = args.pop() as Callback;
    fn.apply(this, args).then(
      (value) => queueMicrotask(() => done(null, value)),
      (error: unknown) => queueMicrotask(() => done(error ?? new Error('Rejected with a falsy value'))),
    );
  };
}

/** Makes instances of one constructor function inherit from another; methods that were defined before are kept. */
export function inherits(constructor: { prototype: object; super_?: unknown }, parent: { prototype: object }): void {
  constructor.super_ = parent;
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

export function deprecate<F extends Fn>(fn: F, message: string): F {
  let warned = false;
  return function (this: unknown, ...args: unknown[]) {
    if (!warned) console.warn(`DeprecationWarning: ${message}`);
    warned = true;
    return new.target ? Reflect.construct(fn, args, new.target) : fn.apply(this, args);
  } as F;
}

/** The debug log of a section, which NODE_DEBUG would enable in Node; always disabled here. */
export function debuglog(_section: string): Fn & { enabled: boolean } {
  return Object.assign(() => {}, { enabled: false });
}

export function stripVTControlCharacters(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g, '');
}

export function toUSVString(text: string): string {
  return text.toWellFormed();
}

export function styleText(_style: unknown, text: string): string {
  return text;
}

export const _extend = (target: object, source: object): object => Object.assign(target, source);
export const debug = debuglog;
export const getSystemErrorName = /* @__PURE__ */ unavailable('util.getSystemErrorName');

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal, _resource?: object): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Parses the text of an .env file into variables. */
export function parseEnv(text: string): Record<string, string> {
  const values: Record<string, string> = {};
  const lines = /^\s*(?:export\s+)?([\w.-]+)\s*=\s*(?:'([^']*)'|"([^"]*)"|`([^`]*)`|([^\n#]*))/gm;
  for (const [, name, single, double, tick, bare] of text.matchAll(lines))
    values[name!] = single ?? double?.replaceAll('\\n', '\n') ?? tick ?? (bare ?? '').trim();
  return values;
}

export const MIMEType = /* @__PURE__ */ unavailable('util.MIMEType');
export { format, formatWithOptions, inspect, isDeepStrictEqual, parseArgs, types };

export default {
  TextDecoder,
  TextEncoder,
  _extend,
  aborted,
  callbackify,
  debug,
  debuglog,
  deprecate,
  format,
  formatWithOptions,
  getSystemErrorName,
  inherits,
  inspect,
  isArray,
  isDeepStrictEqual,
  MIMEType,
  parseArgs,
  parseEnv,
  promisify,
  stripVTControlCharacters,
  styleText,
  toUSVString,
  types,
};
