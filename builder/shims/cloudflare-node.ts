// `cloudflare:node`: servers of node:http behind a fetch handler. A worker opens no port here, and says so when one is
// asked for. Bundled by cloudflare-modules.ts.

function unsupported(name: string): never {
  throw new Error(
    `${name}() of cloudflare:node is not supported on this platform: node:http has no servers here, export a fetch handler`,
  );
}

export const httpServerHandler = (): never => unsupported('httpServerHandler');
export const handleAsNodeRequest = (): never => unsupported('handleAsNodeRequest');
