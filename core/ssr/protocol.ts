// What an engine and the process that runs servers of ssr projects (runtime/ssr/) say to each other over a Unix socket:
// lines of JSON. Types, and the reading of lines. Both sides are the platform's own.
import type { ErrorDetails } from '../errors.ts';
import type { ServerRules } from '../manifest.ts';

/** A server that is wanted. */
export interface ServerSpec {
  /** `<project>/<deployment>`, and what its variables are: another one is another process. */
  readonly key: string;
  readonly project: string;
  readonly deployment: string;
  /** Id of the artifact. */
  readonly artifact: string;
  readonly server: ServerRules;
  readonly vars: Readonly<Record<string, string>>;
}

/** What an engine says. */
export type FromEngine =
  /** On which Unix socket it answers calls of bindings. */
  | { readonly type: 'hello'; readonly calls: string }
  /** It has requests for a server, which runs until it is released; answered by `acquired` or `refused`. */
  | { readonly type: 'acquire'; readonly id: number; readonly spec: ServerSpec }
  /** It has none any more. */
  | { readonly type: 'release'; readonly key: string }
  /** The server answers no connection. */
  | { readonly type: 'lost'; readonly key: string; readonly socket: string };

/** What an engine hears. */
export type ToEngine =
  /** Path of the Unix socket that the server answers on. */
  | { readonly type: 'acquired'; readonly id: number; readonly socket: string }
  | {
      readonly type: 'refused';
      readonly id: number;
      readonly code: 'server_start_failed' | 'server_unavailable' | 'overloaded';
      readonly details: ErrorDetails;
    }
  /** It is gone: requests want another one. */
  | { readonly type: 'ended'; readonly key: string; readonly socket: string }
  /** A line that a server wrote. */
  | { readonly type: 'line'; readonly key: string; readonly level: 'info' | 'error'; readonly text: string };

/** What names of sockets for calls of bindings begin with, in a folder that handlers and servers share. */
export const CALLS_PREFIX = 'calls-';

/** On a call of a binding, from the process of servers to an engine: whose it is. */
export const SERVER_KEY_HEADER = 'x-platform-server';

/** The name under which servers reach the AI gateway: nobody else answers to it. */
export const AI_HOST = 'ai.platform.internal';

/** Gives each line of a stream as what it says. */
export function readLines<Message>(onMessage: (message: Message) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onMessage(JSON.parse(line) as Message);
  };
}
