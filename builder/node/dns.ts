// node:dns: the addresses of names to which the worker may connect. Bundled into workers by node-compat.ts.
import { isIP } from './net.ts';

interface Address {
  readonly address: string;
  readonly family: number;
}
interface LookupOptions {
  readonly family?: number | string;
  readonly all?: boolean;
}
type Callback = (error: Error | null, ...found: unknown[]) => void;

interface Hooks {
  tcpLookup(hostname: string): Promise<{
    readonly value: {
      readonly addresses?: readonly Address[];
      readonly failure?: { readonly code: string; readonly message: string };
    };
  }>;
}

async function find(hostname: string, given: unknown = 0, syscall = 'getaddrinfo'): Promise<Address[]> {
  const wanted = Number(String(given).replace('IPv', ''));
  const own = isIP(hostname);
  if (own !== 0) return [{ address: hostname, family: own }];
  const hooks = (globalThis as Record<symbol, unknown>)[Symbol.for('platform.node')] as Hooks;
  const { addresses = [], failure } = (await hooks.tcpLookup(hostname)).value;
  const found = addresses.filter(({ family }) => !(wanted === 4 || wanted === 6) || family === wanted);
  if (found.length > 0) return found;
  const code = failure?.code ?? 'ENOTFOUND';
  throw Object.assign(new Error(`${syscall} ${code} ${hostname}`), { code, syscall, hostname });
}

function optionsOf(given: unknown): LookupOptions {
  return typeof given === 'object' && given !== null ? given : { family: Number(given ?? 0) };
}

export function lookup(hostname: string, ...rest: unknown[]): void {
  const callback = rest.at(-1) as Callback;
  const { family, all } = optionsOf(typeof rest[0] === 'function' ? undefined : rest[0]);
  find(hostname, family).then(
    (found) => (all === true ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
    (error: Error) => callback(error),
  );
}

const addressesOf = async (hostname: string, family: number, syscall: string): Promise<string[]> =>
  (await find(hostname, family, syscall)).map(({ address }) => address);

const resolver =
  (family: number, syscall: string) =>
  (hostname: string, ...rest: unknown[]): void => {
    const callback = rest.at(-1) as Callback;
    addressesOf(hostname, family, syscall).then(
      (found) => callback(null, found),
      (error: Error) => callback(error),
    );
  };

export const resolve4 = /* @__PURE__ */ resolver(4, 'queryA');
export const resolve6 = /* @__PURE__ */ resolver(6, 'queryAaaa');

export const promises = {
  async lookup(hostname: string, given?: unknown): Promise<Address | Address[]> {
    const { family, all } = optionsOf(given);
    const found = await find(hostname, family);
    return all === true ? found : found[0]!;
  },
  resolve4: (hostname: string): Promise<string[]> => addressesOf(hostname, 4, 'queryA'),
  resolve6: (hostname: string): Promise<string[]> => addressesOf(hostname, 6, 'queryAaaa'),
};

export const getServers = (): string[] => [];
export const setServers = (): void => {};
export const getDefaultResultOrder = (): string => 'verbatim';
export const setDefaultResultOrder = (): void => {};
export const NODATA = 'ENODATA';
export const NOTFOUND = 'ENOTFOUND';
export const SERVFAIL = 'ESERVFAIL';
export const REFUSED = 'EREFUSED';
export const TIMEOUT = 'ETIMEOUT';
export const CANCELLED = 'ECANCELLED';
export const ADDRCONFIG = 1024;
export const V4MAPPED = 2048;
export const ALL = 256;
