// `cloudflare:sockets`: TCP connections of a worker, which the guest makes (runtime/engine/guest/lazy/tcp.ts). Bundled
// by cloudflare-modules.ts.

interface Hooks {
  tcpConnect(address: unknown, options: unknown): object;
}

/**
 * Opens a TCP connection.
 *
 * @param address `host:port`, or both by name
 */
export function connect(
  address: string | { readonly hostname: string; readonly port: number },
  options?: object,
): object {
  const hooks = (globalThis as Record<symbol, unknown>)[Symbol.for('platform.node')] as Hooks | undefined;
  if (hooks === undefined) throw new Error('connect() of cloudflare:sockets needs the platform to run on');
  return hooks.tcpConnect(address, options);
}
