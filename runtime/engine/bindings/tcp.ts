// The host half of TCP sockets of workers: `connect()` of cloudflare:sockets, node:net and node:tls. Each connection
// is opened under the egress policy and ends with its invocation. Everything in `args` comes from a worker and is
// validated here.
import { connect as connectSocket, isIP, type LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { mayConnect, type EgressPolicy } from '#core/egress.ts';
import { PlatformError } from '#core/errors.ts';
import { targetOf } from '#core/outbound/target.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import { invalid, toRecord, toWhole } from './arguments.ts';
import type { EgressMeter } from './egress-meter.ts';
import type { OpenFetches } from './open-fetches.ts';
import { TcpConnection, type Opened, type Wire } from './tcp-connection.ts';
import { toTlsOptions } from './tcp-tls.ts';

/** Dependencies of sockets. */
interface TcpDeps {
  readonly policy: EgressPolicy;
  /** Resolves host names for an isolate, under the same policy. */
  readonly lookupOf: (isolate: object) => LookupFunction;
  readonly meter: EgressMeter;
  readonly places: OpenFetches;
}

/**
 * Connections to this port are never opened: if workers could send mail to other servers, the installation could send
 * spam.
 */
const SMTP_PORT = 25;
const HOST_CHARS_MAX = 253;

/** The handlers. */
export function createTcpCalls(deps: TcpDeps): Readonly<Record<string, HostFunction>> {
  return {
    'tcp.connect': (call) => connect(deps, call),
    'tcp.startTls': (call) => {
      const { handle, sent, tls } = toRecord(call.args);
      const connection = connectionOf(call, handle);
      const options = toTlsOptions(tls, connection.host);
      return answer(
        call,
        connection.startTls(toWhole(sent, 'sent', { least: 0, most: Number.MAX_SAFE_INTEGER }), options, call),
        null,
      );
    },
    'tcp.closed': async (call) => ({ value: await connectionOf(call, toRecord(call.args)['handle']).closed }),
    'tcp.lookup': (call) => lookUp(deps, call),
    'tcp.destroy': (call) => {
      const { handle } = toRecord(call.args);
      connectionOf(call, handle);
      call.isolate.handles.delete(handle);
      return {};
    },
  };
}

function connectionOf(call: HostCall, handle: unknown): TcpConnection {
  const connection = call.isolate.handles.get(handle);
  if (!(connection instanceof TcpConnection)) throw invalid('The socket is closed');
  return connection;
}

function connect(deps: TcpDeps, call: HostCall): Promise<HostReply> {
  const { hostname, port: givenPort, stream, secure, tls } = toRecord(call.args);
  const port = toWhole(givenPort, 'The port', { least: 1, most: 65_535 });
  const host = toHost(hostname);
  // Streams from the guest that are not responses have negative numbers.
  const out = toWhole(stream, 'The stream', { least: Number.MIN_SAFE_INTEGER, most: -1 });
  const options = secure === true ? toTlsOptions(tls, host) : null;
  call.span?.set('server.address', host);
  call.span?.set('server.port', port);
  call.owner.countSubrequest();
  const target = targetOf(host, port);
  if (port === SMTP_PORT || (isIP(host) !== 0 && !mayConnect(host, deps.policy)))
    throw new PlatformError('egress_forbidden', { address: target });
  const open = (): Wire => {
    const lookup = deps.lookupOf(call.isolate);
    const socket = connectSocket({ host, port, lookup, allowHalfOpen: true, noDelay: true });
    deps.meter.add(socket);
    return socket;
  };
  return openConnection(deps.places, call, { out, name: host, target, open, tls: options, mayStartTls: true });
}

/** Dependencies of a worker's socket. */
interface Opening {
  /** Id of the stream from the guest. */
  readonly out: number;
  readonly name: string;
  /** Target of the connection, for error messages. */
  readonly target: string;
  readonly open: () => Wire;
  readonly tls: ConnectionOptions | null;
  /** Whether the worker may continue with TLS. */
  readonly mayStartTls: boolean;
}

/** Opens a socket of a worker, which ends with its invocation. @throws {PlatformError} of a limit. */
export function openConnection(places: OpenFetches, call: HostCall, opening: Opening): Promise<HostReply> {
  const leave = places.take(call.isolate, 'Another open socket');
  let connection: TcpConnection;
  try {
    connection = new TcpConnection(call, opening);
  } catch (error) {
    leave();
    throw error;
  }
  void connection.closed.then(leave);
  let handle: number;
  try {
    handle = call.isolate.handles.add(connection, call.owner);
  } catch (error) {
    connection.close();
    throw error;
  }
  return answer(call, connection.open(opening.tls, call), handle);
}

/** The addresses of a name that the policy allows. */
async function lookUp(deps: TcpDeps, call: HostCall): Promise<HostReply> {
  const host = toHost(toRecord(call.args)['hostname']);
  call.owner.countSubrequest();
  return new Promise((resolve, reject) => {
    deps.lookupOf(call.isolate)(host, { all: true }, (error, addresses) => {
      if (error === null) resolve({ value: { addresses } });
      else if (error instanceof PlatformError) reject(error);
      else resolve({ value: { failure: { code: error.code ?? 'ENOTFOUND', message: error.message } } });
    });
  });
}

function toHost(hostname: unknown): string {
  if (typeof hostname !== 'string' || !/^[^\s/@\0[\]]+$/.test(hostname) || hostname.length > HOST_CHARS_MAX)
    throw invalid('The host name is not valid');
  return hostname.toLowerCase();
}

/** Network failures are returned as values, with Node's codes, such as ECONNREFUSED. */
async function answer(call: HostCall, opening: Promise<Opened>, handle: number | null): Promise<HostReply> {
  try {
    return { value: { ...(await opening), handle } };
  } catch (error) {
    if (handle !== null) call.isolate.handles.delete(handle);
    if (error instanceof PlatformError) throw error;
    const { code = 'ECONNRESET', message } = error as NodeJS.ErrnoException;
    return { value: { failure: { code, message } } };
  }
}
