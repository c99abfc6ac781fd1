// Several replicas of the sandbox service with shared rows: a call for a sandbox held by another replica is forwarded
// to its internal address, with the token and streams. If that replica is down, the call waits until its lease expires,
// then takes the sandbox over. A call is forwarded at most once.
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { PlatformError } from '#core/errors.ts';
import { PORT_ORIGIN_HEADER } from '#core/sandbox/exposed-port.ts';
import { ARGUMENTS_HEADER, RESPONSE_HEADER } from '#core/sandbox/operations.ts';
import { OPTIONS_HEADER } from '#core/sandbox/options.ts';
import { askOver, HEAD_MS_MAX } from '../routes/agent-request.ts';
import type { Call, CallPlacement } from '../routes/call.ts';
import { ELSEWHERE } from '../routes/routes.ts';
import { holderIn, FORWARDED_HEADER } from '../routes/held-sandboxes.ts';
import { isInside } from './configuration.ts';

/** Dependencies. */
interface ReplicasDeps {
  /** The token shared by all replicas. */
  readonly token: string;
  /** How long a call waits for the sandbox of a dead replica: the lease plus a margin. */
  readonly waitMs: number;
  /** How long a replica may take to start the machine. */
  readonly startMs: number;
}

const CONNECT_MS = 3000;
const RETRY_MS = 500;
/** Response headers that are forwarded unchanged. */
const ANSWER_HEADERS = ['content-type', 'content-length', RESPONSE_HEADER];

/**
 * A replica's name in the rows: two machines may have the same private address. @param address `http://10.0.0.5:4006`
 */
export function ownerName(machine: string, address: string): string {
  return `${machine} ${address}`;
}

/** The address of a replica; null if it has no address that may receive the token. */
export function addressOf(owner: string): { readonly host: string; readonly port: number } | null {
  const url = URL.parse(owner.split(' ').at(-1) ?? '');
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  return url?.protocol === 'http:' && isInside(host) ? { host, port: Number(url.port || 80) } : null;
}

/** Connects to a replica named in the rows; null if it does not answer. */
export async function reachReplica(owner: string): Promise<Socket | null> {
  const address = addressOf(owner);
  return address === null ? null : connectionTo(address);
}

export function createReplicas({ token, waitMs, startMs }: ReplicasDeps): CallPlacement {
  /** False if the replica sent no response and read none of the body. */
  async function forward(owner: string, { request, response, gone }: Call): Promise<boolean> {
    const connection = await reachReplica(owner);
    if (connection === null) return false;
    let isTaken = false;
    const late = new AbortController();
    let timer = setTimeout(() => late.abort(), startMs);
    async function* body(): AsyncGenerator<Uint8Array> {
      isTaken = true;
      clearTimeout(timer);
      timer = setTimeout(() => late.abort(), HEAD_MS_MAX);
      if (request.headers.expect !== undefined) response.writeContinue();
      yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
    }
    const said = [ARGUMENTS_HEADER, OPTIONS_HEADER, PORT_ORIGIN_HEADER].flatMap((name) => {
      const value = request.headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    });
    let answer: IncomingMessage;
    try {
      answer = await askOver(connection, {
        method: request.method!,
        path: request.url!,
        headers: {
          host: 'sandboxes',
          authorization: `Bearer ${token}`,
          expect: '100-continue',
          [FORWARDED_HEADER]: '1',
          ...Object.fromEntries(said),
        },
        // The other replica discards data after the response of an operation without a body.
        isDuplex: true,
        body: body(),
        signal: AbortSignal.any([gone, late.signal]),
      });
    } catch (error) {
      if (isTaken || gone.aborted) throw error;
      return false;
    } finally {
      clearTimeout(timer);
    }
    const { statusCode, headers } = answer;
    if (statusCode === ELSEWHERE || statusCode === 401) {
      answer.destroy();
      if (statusCode === ELSEWHERE) return false;
      throw new PlatformError('sandbox_unavailable', {
        reason: `another replica of the service has it (${owner}), which uses another SANDBOX_AUTH_TOKEN`,
      });
    }
    const kept = ANSWER_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
    response.writeHead(statusCode!, Object.fromEntries(kept) as Record<string, string>);
    response.flushHeaders();
    await pipeline(answer, response);
    return true;
  }

  return async (call, here) => {
    const end = performance.now() + waitMs;
    for (;;) {
      const isLast = performance.now() >= end;
      try {
        return await here();
      } catch (error) {
        const holder = holderIn(error);
        if (holder === null || isLast || call.request.headers[FORWARDED_HEADER] !== undefined) throw error;
        if (await forward(holder.owner, call)) return;
        await wait(Math.min(holder.leaseMs, RETRY_MS), undefined, { signal: call.gone });
      }
    }
  };
}

/** Null if the replica does not answer. */
function connectionTo(address: { readonly host: string; readonly port: number }): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const timer = setTimeout(() => socket.destroy(), CONNECT_MS);
    const settle = (found: Socket | null): void => {
      clearTimeout(timer);
      resolve(found);
    };
    socket
      .on('error', () => {})
      .once('connect', () => settle(socket))
      .once('close', () => settle(null));
  });
}
