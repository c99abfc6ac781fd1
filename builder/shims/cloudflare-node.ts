// `cloudflare:node`: node:http servers behind a fetch handler. Workers cannot listen on a port here: the functions
// throw an error. Bundled by cloudflare-modules.ts.

function unsupported(name: string): never {
  throw new Error(
    `${name}() of cloudflare:node is not supported on this platform: node:http has no servers here. Export a fetch handler, or run it as a server for Node with "kind: ssr"`,
  );
}

export const httpServerHandler = (): never => unsupported('httpServerHandler');
export const handleAsNodeRequest = (): never => unsupported('handleAsNodeRequest');
