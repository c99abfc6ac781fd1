// What the control plane asks of a deployment's bindings, by `POST /_platform/data` of the private port: types of both
// halves, control/api/routes/ and the engine. What they mean is what docs/dev-dashboard.md says of the same words.

/** A kind of binding that can be asked from outside. */
export type ResourceKind = 'db' | 'state' | 'fs' | 'queue';

/** One entry of a listing of state. */
interface StateEntry {
  readonly name: string;
  /** Milliseconds since 1970; null: it stays. */
  readonly expiresAt: number | null;
  /** As JSON; null: it has none. */
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

/**
 * Each operation: what it takes beside `binding`, and what it gives. `binding` is a binding's name in platform.yaml, or
 * the name of its resource.
 */
export interface ResourceOperations {
  /** Which bindings the deployment declares; takes no `binding`. */
  readonly 'resources.list': {
    readonly takes: object;
    readonly gives: {
      readonly resources: readonly {
        readonly kind: ResourceKind;
        readonly binding: string;
        readonly resource: string;
      }[];
    };
  };
  readonly 'db.tables': {
    readonly takes: object;
    readonly gives: {
      readonly tables: readonly { readonly name: string; readonly type: 'table' | 'view'; readonly sql: string }[];
    };
  };
  /** One statement; rows beyond 1000 are left out (`truncated`). Blobs are `{b: base64}`, large integers `{i}`. */
  readonly 'db.query': {
    readonly takes: { readonly sql: string; readonly params?: readonly unknown[] };
    readonly gives: {
      readonly columns: readonly string[];
      readonly rows: readonly (readonly unknown[])[];
      readonly truncated: boolean;
      readonly meta: {
        readonly durationMs: number;
        readonly rowsRead: number;
        readonly rowsWritten: number;
        readonly changes: number;
      };
    };
  };
  /** Any number of statements, in one transaction. */
  readonly 'db.script': {
    readonly takes: { readonly sql: string };
    readonly gives: { readonly count: number; readonly durationMs: number };
  };
  /** Names of migrations that were applied, and of those that the deployment has beyond them. */
  readonly 'db.migrations': {
    readonly takes: object;
    readonly gives: { readonly applied: readonly string[]; readonly pending: readonly string[] };
  };
  /** Applies what is pending. */
  readonly 'db.migrate': { readonly takes: object; readonly gives: { readonly applied: readonly string[] } };
  /** A consistent copy as a SQLite file, at `file`: an absolute path in the data folder that does not exist yet. */
  readonly 'db.copy': { readonly takes: { readonly file: string }; readonly gives: { readonly bytes: number } };
  readonly 'state.list': {
    readonly takes: { readonly prefix?: string; readonly cursor?: string; readonly limit?: number };
    readonly gives: { readonly keys: readonly StateEntry[]; readonly cursor: string | null };
  };
  /** `null`: there is no such entry. Text is in `value`, bytes are in `base64`. */
  readonly 'state.get': {
    readonly takes: { readonly key: string };
    readonly gives: {
      readonly entry: {
        readonly key: string;
        readonly value?: string;
        readonly base64?: string;
        readonly metadata: unknown;
        /** Milliseconds since 1970. */
        readonly expiresAt: number | null;
      } | null;
    };
  };
  readonly 'state.put': {
    readonly takes: {
      readonly key: string;
      readonly value?: string;
      readonly base64?: string;
      readonly metadata?: unknown;
      /** Seconds. */
      readonly expirationTtl?: number;
    };
    readonly gives: object;
  };
  readonly 'state.delete': { readonly takes: { readonly key: string }; readonly gives: object };
  readonly 'fs.list': {
    readonly takes: {
      readonly prefix?: string;
      readonly delimiter?: string;
      readonly cursor?: string;
      readonly limit?: number;
    };
    readonly gives: {
      readonly files: readonly StoredFile[];
      readonly prefixes: readonly string[];
      readonly cursor: string | null;
    };
  };
  /** `null`: there is no such file. A part of it, so that files of any size pass: `offset` and `length` in bytes. */
  readonly 'fs.get': {
    readonly takes: { readonly key: string; readonly offset: number; readonly length: number };
    readonly gives: { readonly file: (StoredFile & { readonly base64: string }) | null };
  };
  readonly 'fs.put': {
    readonly takes: { readonly key: string; readonly base64: string; readonly contentType?: string };
    readonly gives: { readonly file: StoredFile };
  };
  readonly 'fs.delete': { readonly takes: { readonly keys: readonly string[] }; readonly gives: object };
  readonly 'queue.stats': {
    readonly takes: object;
    /** As `env.<queue>.metrics()` of a worker has it. */
    readonly gives: {
      readonly backlogCount: number;
      readonly backlogBytes: number;
      readonly inFlightCount: number;
      /** Milliseconds since 1970; null: there is none. */
      readonly oldestMessageTimestamp: number | null;
      readonly deadCount: number;
    };
  };
  readonly 'queue.dead': {
    readonly takes: { readonly after?: number; readonly limit?: number };
    readonly gives: {
      readonly messages: readonly {
        readonly id: string;
        readonly payload: unknown;
        readonly attempt: number;
        /** When it was sent, in milliseconds since 1970. */
        readonly timestamp: number;
        readonly deadReason: string | null;
      }[];
      /** For `after` of the next question; null: these were the last. */
      readonly next: number | null;
    };
  };
  /** Sends all dead letters to their queue again. */
  readonly 'queue.redrive': { readonly takes: object; readonly gives: { readonly count: number } };
}

/** The body of `POST /_platform/data`. */
export interface ResourceCall<Operation extends keyof ResourceOperations = keyof ResourceOperations> {
  readonly project: string;
  /** The deployment whose platform.yaml declares the binding, and whose branch says which resources it has. */
  readonly deployment: string;
  readonly operation: Operation;
  readonly binding?: string;
  readonly args: ResourceOperations[Operation]['takes'];
}

/**
 * The answer: `{result}` with status 200. Otherwise `{error, code}`, as all errors of the private port:
 * `binding_not_found`, and `invalid_argument` where a statement or a key is refused.
 */
export interface ResourceAnswer<Operation extends keyof ResourceOperations> {
  readonly result: ResourceOperations[Operation]['gives'];
}
