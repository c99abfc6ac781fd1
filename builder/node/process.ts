// node:process and the global `process`: variables as `env`, a clock, nextTick; no process to signal, end or measure.
// Bundled by node-compat.ts into workers that name it, so it imports as little as it can.
import { unavailable } from './unavailable.ts';

/** Key under which the guest keeps the deployment's variables (`env.vars`). */
const varsKey = Symbol.for('platform.env.vars');

let copy: Record<string, string> | undefined;

/** The variables, copied on first use: code may assign to process.env, which must not change `env.vars`. */
function variables(): Record<string, string> {
  const vars = (globalThis as Record<symbol, unknown>)[varsKey] as Record<string, string> | undefined;
  if (copy === undefined && vars !== undefined) copy = { NODE_ENV: 'production', ...vars };
  return copy ?? { NODE_ENV: 'production' };
}

export const env: Record<string, string | undefined> = /* @__PURE__ */ new Proxy(
  {},
  {
    get: (_, key) => Reflect.get(variables(), key),
    set: (_, key, value) => Reflect.set((copy = variables()), key, String(value)),
    has: (_, key) => Reflect.has(variables(), key),
    deleteProperty: (_, key) => Reflect.deleteProperty((copy = variables()), key),
    ownKeys: () => Reflect.ownKeys(variables()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(variables(), key),
    defineProperty: (_, key, descriptor) => Reflect.defineProperty((copy = variables()), key, descriptor),
  },
);

export function nextTick(callback: (...args: unknown[]) => void, ...args: unknown[]): void {
  queueMicrotask(() => callback(...args));
}

/** Monotonic clock in nanoseconds, within the resolution of the isolate's clock. */
function nanoseconds(): bigint {
  return BigInt(Math.round(performance.now() * 1e6));
}

export const hrtime = /* @__PURE__ */ Object.assign(
  (since: readonly [number, number] = [0, 0]): [number, number] => {
    const passed = nanoseconds() - (BigInt(since[0]) * 1_000_000_000n + BigInt(since[1]));
    return [Number(passed / 1_000_000_000n), Number(passed % 1_000_000_000n)];
  },
  { bigint: nanoseconds },
);

function output(print: (text: string) => void): { isTTY: false; columns: number; write(text: unknown): true } {
  return {
    isTTY: false,
    columns: 80,
    write(text) {
      print(String(text).replace(/\n$/, ''));
      return true;
    },
  };
}

const process: Record<string, unknown> = {
  title: 'worker',
  pid: 1,
  ppid: 0,
  platform: 'linux',
  arch: 'x64',
  version: 'v24.0.0',
  versions: { node: '24.0.0' },
  release: {},
  features: {},
  argv: [],
  argv0: 'worker',
  execArgv: [],
  execPath: '',
  exitCode: undefined,
  env,
  hrtime,
  nextTick,
  cwd: () => '/',
  umask: () => 0,
  uptime: () => performance.now() / 1000,
  emitWarning: (warning: unknown) => console.warn(String(warning)),
  getBuiltinModule: () => undefined,
  stdout: /* @__PURE__ */ output((text) => console.log(text)),
  stderr: /* @__PURE__ */ output((text) => console.error(text)),
};
// A worker never gets process events: adding listeners has no effect.
for (const name of [
  'on',
  'once',
  'off',
  'addListener',
  'removeListener',
  'removeAllListeners',
  'prependListener',
  'setMaxListeners',
]) {
  process[name] = () => process;
}
process['emit'] = () => false;
process['listeners'] = () => [];
process['listenerCount'] = () => 0;
for (const name of ['abort', 'chdir', 'cpuUsage', 'dlopen', 'exit', 'kill', 'memoryUsage', 'resourceUsage', 'stdin']) {
  process[name] = unavailable(`process.${name}`);
}

export default process;
export const {
  title,
  pid,
  ppid,
  platform,
  arch,
  version,
  versions,
  release,
  features,
  argv,
  argv0,
  execArgv,
  execPath,
  cwd,
  umask,
  uptime,
  emitWarning,
  getBuiltinModule,
  stdout,
  stderr,
  stdin,
  on,
  once,
  off,
  emit,
  abort,
  chdir,
  cpuUsage,
  exit,
  kill,
  memoryUsage,
} = process;
