// Outgoing connections of sandboxes and builds, which have no network. A program requests a connection by name and
// port, and it is opened if the policy for requests of tenants and the operator's list allow it. Called by the sandbox
// service and the builder.
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { mayConnect, type EgressPolicy } from '../egress.ts';
import { targetOf } from './target.ts';
import { connectThrough } from './through-proxy.ts';

/** Which destinations can be reached, and how to connect to them. */
export interface Outbound {
  /** The programs that connect, as the subject of messages, such as `sandboxes`. */
  readonly who: string;
  readonly policy: EgressPolicy;
  /** Resolves a name to the addresses that the policy allows. */
  readonly lookup: LookupFunction;
  /** Why a host is refused, regardless of its address, or null. */
  refusalOf?(name: string, port: number): string | null;
  /** Whether the operator allows a host regardless of its address. */
  isKnown?(name: string, port: number): boolean;
  /** The proxy of the machine for this host, or null. */
  proxyOf?(name: string, port: number): URL | null;
}

const CONNECT_MS = 30_000;

/**
 * Answers one request for a connection on `stream`: a line `ok`, then the bytes of both sides, or a line with an
 * error code and its reason.
 *
 * @param target `<host>:<port>`
 */
export function answerConnect(target: string, stream: Duplex, outbound: Outbound): void {
  const [, host = '', digits = ''] = /^([^\s/@]{1,253}):(\d{1,5})$/.exec(target) ?? [];
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const port = Number(digits);
  const refuse = (code: string, reason: string): void => void stream.end(`${code} ${reason}\n`);
  if (name === '' || port < 1 || port > 65_535) return refuse('EINVAL', 'no host and port');
  const refusal = outbound.refusalOf?.(name, port) ?? null;
  if (refusal !== null) return refuse('EACCES', refusal);
  const isKnown = outbound.isKnown?.(name, port) === true;
  const forbidden = `${outbound.who} may not reach ${name}: it is not a public address`;
  if (!isKnown && isIP(name) !== 0 && !mayConnect(name, outbound.policy)) return refuse('EACCES', forbidden);
  const proxy = outbound.proxyOf?.(name, port) ?? null;
  let isOpen = false;
  const join = (outside: Socket): void => {
    isOpen = true;
    stream.once('close', () => outside.destroy());
    if (stream.destroyed) return void outside.destroy();
    outside.setTimeout(0);
    stream.write('ok\n');
    stream.pipe(outside).pipe(stream);
  };
  const fail = ({ code = 'ECONNREFUSED', message }: NodeJS.ErrnoException): void => {
    if (isOpen) return void stream.destroy();
    if (code === 'egress_forbidden') refuse('EACCES', forbidden);
    else if (code === 'quota_exceeded') refuse('EAGAIN', message);
    else refuse(code, `${name}:${port}`);
  };
  if (proxy !== null) {
    connectThrough(proxy, targetOf(name, port), CONNECT_MS).then((outside) => join(outside.on('error', fail)), fail);
    return;
  }
  const to = { host: name, port, timeout: CONNECT_MS, allowHalfOpen: true };
  const outside = connect(isKnown ? to : { ...to, lookup: outbound.lookup });
  stream.once('close', () => outside.destroy());
  outside.once('timeout', () => outside.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })));
  outside.on('error', fail);
  outside.once('connect', () => join(outside));
}
