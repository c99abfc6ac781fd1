// Opens the outgoing connections of one server, which has no network access itself. The server sends a destination to a
// Unix socket (preload.cjs does this), and gets the path of another socket that leads there, if the policy for requests
// of tenants allows it. server-process.ts creates one for each server.
import { chmodSync, rmSync } from 'node:fs';
import {
  connect,
  createServer,
  isIP,
  type LookupFunction,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net';
import path from 'node:path';
import { mayConnect, type EgressPolicy } from '#core/egress.ts';
import { PlatformError } from '#core/errors.ts';
import { limitedLookup } from '#core/outbound/host-names.ts';
import { AI_HOST } from '#core/ssr/protocol.ts';

/** Dependencies of outgoing connections. */
interface EgressDeps {
  /** A folder that the server can see. */
  readonly folder: string;
  readonly policy: EgressPolicy;
  /** Resolves a name to the addresses that the policy allows. */
  readonly lookup: LookupFunction;
  readonly connectionsMax: number;
  /** The Unix socket behind AI_HOST. */
  readonly gateway: string;
}

/** Timeout of connection attempts, and how long a socket path waits to be used. */
const CONNECT_MS = 30_000;
const LINE_CHARS_MAX = 400;

/** Opens it in `<folder>/egress.sock`. @returns a function that closes the socket with all connections. */
export async function openEgress({
  folder,
  policy,
  lookup: lookUp,
  connectionsMax,
  gateway,
}: EgressDeps): Promise<() => void> {
  const lookup = limitedLookup(lookUp, connectionsMax);
  const open = new Set<Socket>();
  const paths = new Set<Server>();
  let last = 0;
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.on('error', () => {}).once('close', () => open.delete(socket));
  };

  const server = createServer((asking) => {
    keep(asking);
    if (open.size > connectionsMax) return refuse(asking, 'EMFILE', `more than ${connectionsMax} connections`);
    let text = '';
    asking.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.length > LINE_CHARS_MAX) asking.destroy();
      else if (text.endsWith('\n')) {
        const [what = '', host = '', port = ''] = text.trim().split(' ');
        text = '';
        if (what === 'lookup') answerLookup(host, asking);
        else void match(host, Number(port), asking);
      }
    });
  });

  function answerLookup(host: string, asking: Socket): void {
    addressesOf(host).then(
      (addresses) => asking.end(`ok ${addresses.join(' ')}\n`),
      () => refuse(asking, 'ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`),
    );
  }

  /** The allowed addresses. */
  async function addressesOf(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) {
      if (mayConnect(host, policy)) return [host];
      throw forbidden(host);
    }
    const found = await new Promise<readonly { readonly address: string }[]>((resolve, reject) =>
      lookup(host, { all: true }, (error, addresses) =>
        error === null ? resolve(addresses as unknown as { address: string }[]) : reject(error),
      ),
    );
    return found.map(({ address }) => address);
  }

  async function match(host: string, port: number, asking: Socket): Promise<void> {
    if (!(Number.isInteger(port) && port > 0 && port < 65_536)) return refuse(asking, 'EINVAL', 'no port');
    if (host === AI_HOST) return connectTo({ path: gateway }, host, port, asking);
    let address: string | undefined;
    try {
      [address] = await addressesOf(host);
    } catch (error) {
      if ((error as { code?: string }).code === 'egress_forbidden')
        return refuse(asking, 'EACCES', (error as Error).message);
      return refuse(asking, 'ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`);
    }
    if (address === undefined) return refuse(asking, 'ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`);
    connectTo({ host: address, port }, host, port, asking);
  }

  function connectTo(to: NetConnectOpts, host: string, port: number, asking: Socket): void {
    const outside = connect({ ...to, timeout: CONNECT_MS });
    keep(outside);
    outside.once('timeout', () => outside.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })));
    outside.once('error', ({ code = 'ECONNREFUSED' }: NodeJS.ErrnoException) =>
      refuse(asking, code, `connect ${code} ${host}:${port}`),
    );
    outside.once('connect', () => {
      outside.setTimeout(0);
      offer(outside, asking);
    });
  }

  /** Returns the socket path for one connection. */
  function offer(outside: Socket, asking: Socket): void {
    const file = path.join(folder, `out-${++last}.sock`);
    const single = createServer({ allowHalfOpen: true }, (inside) => {
      single.close();
      keep(inside);
      inside.pipe(outside).pipe(inside);
      inside.once('close', () => outside.destroy());
      outside.once('close', () => inside.destroy());
    });
    paths.add(single);
    const unused = setTimeout(() => (single.close(), outside.destroy()), CONNECT_MS).unref();
    single.once('close', () => {
      clearTimeout(unused);
      paths.delete(single);
      rmSync(file, { force: true });
    });
    single.listen(file, () => {
      chmodSync(file, 0o666);
      asking.end(`ok ${file}\n`);
    });
  }

  const file = path.join(folder, 'egress.sock');
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(file, resolve));
  chmodSync(file, 0o666);
  return () => {
    server.close();
    for (const each of paths) each.close();
    for (const socket of open) socket.destroy();
  };
}

function refuse(asking: Socket, code: string, reason: string): void {
  // The server may never read the response, so errors are ignored.
  asking.end(`${code} ${reason}\n`, () => asking.destroy());
}

function forbidden(address: string): PlatformError {
  return new PlatformError('egress_forbidden', { address });
}
