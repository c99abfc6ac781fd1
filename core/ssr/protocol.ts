// Protocol between an engine and the process that runs servers of ssr projects (runtime/ssr/), over a Unix socket:
// lines of JSON. This file has the types, and parses lines.
import type { ErrorDetails } from '../errors.ts';
import type { ServerRules } from '../manifest.ts';

/** A server to run. */
export interface ServerSpec {
  /**
   * Identifies the server process: `<project>/<deployment>` and its variables. With other variables, the deployment
   * needs another process.
   */
  readonly key: string;
  readonly project: string;
  readonly deployment: string;
  /** Id of the artifact. */
  readonly artifact: string;
  readonly server: ServerRules;
  readonly vars: Readonly<Record<string, string>>;
}

/** Messages of an engine. */
export type FromEngine =
  /** Unix socket on which the engine serves binding calls. */
  | { readonly type: 'hello'; readonly calls: string }
  /**
   * The engine has requests for a server, which runs until the engine releases it. The response is `acquired` or
   * `refused`.
   */
  | { readonly type: 'acquire'; readonly id: number; readonly spec: ServerSpec }
  /** The engine has no more requests for the server. */
  | { readonly type: 'release'; readonly key: string }
  /** Reports that the server accepts no connections. */
  | { readonly type: 'lost'; readonly key: string; readonly socket: string };

/** Messages to an engine. */
export type ToEngine =
  /** Path of the server's Unix socket. */
  | { readonly type: 'acquired'; readonly id: number; readonly socket: string }
  | {
      readonly type: 'refused';
      readonly id: number;
      readonly code: 'server_start_failed' | 'server_unavailable' | 'overloaded';
      readonly details: ErrorDetails;
    }
  /** The server has ended: requests need a new one. */
  | { readonly type: 'ended'; readonly key: string; readonly socket: string }
  /** A line of a server's output. */
  | { readonly type: 'line'; readonly key: string; readonly level: 'info' | 'error'; readonly text: string };

/** Name prefix of sockets for binding calls, in a folder that handlers and servers share. */
export const CALLS_PREFIX = 'calls-';

/** Header of a binding call from the server process to an engine, which identifies the server. */
export const SERVER_KEY_HEADER = 'x-platform-server';

/** Reserved host name of the AI gateway for servers. */
export const AI_HOST = 'ai.platform.internal';

/** Parses each line of a stream as a message. */
export function readLines<Message>(onMessage: (message: Message) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onMessage(JSON.parse(line) as Message);
  };
}
