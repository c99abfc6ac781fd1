// The way out of a sandbox, which has no network: its agent asks for a connection by name and port, and the service
// makes it, if the policy for requests of tenants and the operator's list allow it.
import { connect, isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import type { EgressChoice } from '#core/sandbox/options.ts';
import { mayConnect, type EgressPolicy } from '#core/egress.ts';

/** What may be reached. */
export interface SandboxEgress {
  readonly policy: EgressPolicy;
  /** The addresses of a name that the policy allows. */
  readonly lookup: LookupFunction;
  /** Names, and `*.` before those with all below them; null: every one. */
  readonly hosts: readonly string[] | null;
}

/** What one sandbox may reach of it; null: all of it. */
export interface NarrowedEgress extends SandboxEgress {
  readonly choice: EgressChoice | null;
}

const CONNECT_MS = 30_000;

/**
 * Answers one request for a connection on `stream`: a line `ok`, then the bytes of both sides, or a line with the code
 * of what went wrong and its reason.
 *
 * @param target `<host>:<port>`
 */
export function lead(target: string, stream: Duplex, egress: NarrowedEgress): void {
  const [, host = '', digits = ''] = /^([^\s/@]{1,253}):(\d{1,5})$/.exec(target) ?? [];
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const port = Number(digits);
  const refuse = (code: string, reason: string): void => void stream.end(`${code} ${reason}\n`);
  if (name === '' || port < 1 || port > 65_535) return refuse('EINVAL', 'no host and port');
  if (egress.hosts !== null && !isListed(name, egress.hosts))
    return refuse('EACCES', `${name} is not among the hosts that sandboxes may reach (SANDBOX_EGRESS_HOSTS)`);
  const { choice } = egress;
  if (choice?.mode === 'none') return refuse('EACCES', 'this sandbox may reach nothing (its egress is "none")');
  if (choice?.mode === 'allow' && !isListed(name, choice.allow))
    return refuse('EACCES', `${name} is not among the hosts that this sandbox may reach (its egress.allow)`);
  if (isIP(name) !== 0 && !mayConnect(name, egress.policy))
    return refuse('EACCES', `sandboxes may not reach ${name}: it is no public address`);
  const outside = connect({ host: name, port, lookup: egress.lookup, timeout: CONNECT_MS, allowHalfOpen: true });
  let isOpen = false;
  stream.once('close', () => outside.destroy());
  outside.once('timeout', () => outside.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })));
  outside.on('error', ({ code = 'ECONNREFUSED' }: NodeJS.ErrnoException) => {
    if (isOpen) return void stream.destroy();
    if (code === 'egress_forbidden') refuse('EACCES', `sandboxes may not reach ${name}: it is no public address`);
    else refuse(code, `${name}:${port}`);
  });
  outside.once('connect', () => {
    isOpen = true;
    outside.setTimeout(0);
    stream.write('ok\n');
    stream.pipe(outside).pipe(stream);
  });
}

/** @example isListed('api.example.com', ['*.example.com']) // true */
function isListed(name: string, hosts: readonly string[]): boolean {
  return hosts.some((host) =>
    host.startsWith('*.') ? name.endsWith(host.slice(1)) || name === host.slice(2) : name === host,
  );
}
