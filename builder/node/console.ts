// node:console: the console of the worker. Bundled into workers by node-compat.ts.
import { unavailable } from './unavailable.ts';

const { console } = globalThis as unknown as { console: Record<string, unknown> };

export const {
  assert,
  clear,
  count,
  countReset,
  debug,
  dir,
  dirxml,
  error,
  group,
  groupCollapsed,
  groupEnd,
  info,
  log,
  table,
  time,
  timeEnd,
  timeLog,
  trace,
  warn,
} = console;
export const Console = /* @__PURE__ */ unavailable('console.Console');

export default console;
