// `cloudflare:sockets`: a worker has no raw sockets here, and says so when one is opened. Bundled by node-compat.ts.

export function connect(): never {
  throw new Error('connect() of cloudflare:sockets is not supported on this platform: a worker has fetch, but no raw sockets');
}
