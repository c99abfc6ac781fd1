// `cloudflare:sockets`: workers have no raw sockets here; opening one throws an error. Bundled by
// cloudflare-modules.ts.

export function connect(address?: string | { readonly hostname?: string; readonly port?: number }): never {
  const to = typeof address === 'object' ? `${address.hostname}:${address.port}` : String(address);
  throw new Error(
    `connect() of cloudflare:sockets cannot reach ${to}: a worker has fetch and WebSocket, but no raw TCP sockets on this platform. ` +
      'For a database use a db binding, or a driver that speaks HTTP',
  );
}
