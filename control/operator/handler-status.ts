// The status of the handler's processes, as its private port reports it. Used by health.ts and overview.ts.
import type { PrivatePort } from '../process/private-port.ts';

/** The part of `GET /_platform/status` that operators are shown. */
export interface HandlerStatus {
  readonly engines?: readonly {
    readonly id?: number;
    readonly role?: string;
    readonly state?: string;
    readonly restarts?: number;
    /** Running and waiting requests. */
    readonly load?: number;
    readonly problem?: string;
    readonly status: { readonly rssBytes: number } | null;
  }[];
  readonly services?: readonly { readonly name: string; readonly state: string; readonly restarts: number }[];
  readonly quarantine?: readonly { readonly deployment: string; readonly strikes: number }[];
}

const ASK_MS = 3000;

/** @throws {Error} if the handler does not respond within three seconds. */
export async function readHandlerStatus(privatePort: PrivatePort): Promise<HandlerStatus> {
  return (await privatePort.ask<HandlerStatus>('/_platform/status', undefined, ASK_MS)).body;
}
