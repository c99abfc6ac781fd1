// The part of the module `uWebSockets.js` that the listener uses. Types only.
import type { UwsAddressed } from './uws-address.ts';
import type { UwsBehavior, UwsSocketOwner } from './uws-socket.ts';

export interface UwsModule {
  App(): UwsApp;
  us_listen_socket_close(socket: object): void;
  us_socket_local_port(socket: object): number;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  readonly SHARED_COMPRESSOR: number;
  readonly SHARED_DECOMPRESSOR: number;
  _cfg(key: string): void;
}

/** The part of the library's response object that is used. */
export interface UwsResponse extends UwsAddressed {
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string | Uint8Array): unknown;
  write(chunk: string | Uint8Array): boolean;
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  endWithoutBody(contentLength?: number, closeConnection?: boolean): unknown;
  tryEnd(chunk: string | Uint8Array, totalBytes: number): [ok: boolean, done: boolean];
  close(): unknown;
  getWriteOffset(): number;
  onWritable(handler: (offset: number) => boolean): unknown;
  onAborted(handler: () => void): unknown;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  cork(callback: () => void): unknown;
  upgrade(owner: UwsSocketOwner, key: string, protocol: string, extensions: string, context: object): void;
}

interface UwsApp {
  ws(pattern: string, behavior: UwsBehavior<UwsUpgrade>): UwsApp;
  any(pattern: string, handler: (response: UwsResponse, request: UwsRequest) => void): UwsApp;
  /** Called when a connection opens (a positive count) or closes. */
  filter(handler: (response: UwsResponse, count: number) => void): UwsApp;
  listen(host: string, port: number, options: number, callback: (socket: object | false) => void): UwsApp;
  close(): UwsApp;
}

/** The request object, which is only valid while the native callback runs. */
export interface UwsRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getHeader(name: string): string;
  getQuery(): string | undefined;
  forEach(callback: (name: string, value: string) => void): void;
}

export type UwsUpgrade = (response: UwsResponse, request: UwsRequest, context: object) => void;
