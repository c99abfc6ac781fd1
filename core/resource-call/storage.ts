// Operations on state, files and caches.
import type { Nothing, Page } from './arguments.ts';

/** One entry of a listing of state. */
interface StateEntry {
  readonly name: string;
  /** Milliseconds since 1970; null means no expiry. */
  readonly expiresAt: number | null;
  /** The metadata as JSON, or null. */
  readonly metadata: string | null;
}

/** One file, without its bytes. */
export interface StoredFile {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  /** Milliseconds since 1970. */
  readonly uploadedAt: number;
  readonly contentType?: string;
}

/** An entry of a cache binding. */
export interface CacheEntry {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Operations on state. */
export interface StateOperations {
  readonly 'state.list': {
    readonly takes: Page & { readonly prefix?: string | undefined };
    readonly gives: { readonly keys: readonly StateEntry[]; readonly cursor: string | null };
  };
  /** Returns an entry, or null if there is none. The content is text in `value`, or bytes in `base64`. */
  readonly 'state.get': {
    readonly takes: { readonly key: string };
    readonly gives: {
      readonly entry: {
        readonly key: string;
        readonly value?: string;
        readonly base64?: string;
        readonly metadata: unknown;
        /** Changes with every write. */
        readonly version: string;
        /** Milliseconds since 1970. */
        readonly expiresAt: number | null;
      } | null;
    };
  };
  readonly 'state.put': {
    readonly takes: {
      readonly key: string;
      readonly value?: string | undefined;
      readonly base64?: string | undefined;
      readonly metadata?: unknown;
      /** Seconds. */
      readonly expirationTtl?: number | undefined;
      /**
       * If set, the entry is only written if this is its current version; null means only if the entry does not exist.
       */
      readonly version?: string | null | undefined;
    };
    /** False if the entry has another version. */
    readonly gives: { readonly written: boolean };
  };
  readonly 'state.delete': { readonly takes: { readonly key: string }; readonly gives: Nothing };
}

/** Operations on files. */
export interface FileOperations {
  readonly 'fs.list': {
    readonly takes: Page & { readonly prefix?: string | undefined; readonly delimiter?: string | undefined };
    readonly gives: {
      readonly files: readonly StoredFile[];
      readonly prefixes: readonly string[];
      readonly cursor: string | null;
    };
  };
  /**
   * Returns a part of a file, so that files of any size can be read; null if there is no such file. `offset` and
   * `length` are in bytes.
   */
  readonly 'fs.get': {
    readonly takes: { readonly key: string; readonly offset: number; readonly length: number };
    readonly gives: { readonly file: (StoredFile & { readonly base64: string }) | null };
  };
  /** The bytes are in `base64`, or in `file`, an absolute path in the data folder. */
  readonly 'fs.put': {
    readonly takes: {
      readonly key: string;
      readonly base64?: string | undefined;
      readonly file?: string | undefined;
      readonly contentType?: string | undefined;
    };
    readonly gives: { readonly file: StoredFile };
  };
  readonly 'fs.delete': { readonly takes: { readonly keys: readonly string[] }; readonly gives: Nothing };
}

/** Operations on a cache. */
export interface CacheOperations {
  readonly 'cache.list': {
    readonly takes: { readonly limit?: number | undefined };
    readonly gives: { readonly entries: readonly CacheEntry[] };
  };
  readonly 'cache.get': { readonly takes: { readonly key: string }; readonly gives: { readonly value: string | null } };
  readonly 'cache.delete': { readonly takes: { readonly key: string }; readonly gives: Nothing };
}
