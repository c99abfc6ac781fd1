// What a deployment's bindings are asked from outside: types of both halves, the API's (resources/) and the engine's
// (runtime/engine/resources/). The control plane asks by `POST /_platform/data` of the private port, `platform dev` in
// its own process.

/** A kind of binding that can be asked from outside. */
export type ResourceKind = 'db' | 'state' | 'fs' | 'queue' | 'workflow' | 'timer' | 'cache' | 'auth';

type Nothing = Readonly<Record<never, never>>;

/** A column of a table. */
export interface TableColumn {
  readonly name: string;
  /** As declared; empty where nothing is. */
  readonly type: string;
  readonly notNull: boolean;
  /** Place in the primary key, from 1; 0: it is not part of it. */
  readonly primaryKey: number;
}

/** A table or a view, and the statement that made it. */
export interface DescribedTable {
  readonly name: string;
  readonly type: 'table' | 'view';
  readonly sql: string;
  readonly columns: readonly TableColumn[];
}

/** What a statement took and did. */
export interface StatementMeta {
  readonly durationMs: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly changes: number;
}

/** A statement that took long, with all its runs since the database was opened last. */
export interface SlowStatement {
  readonly sql: string;
  readonly count: number;
  readonly msTotal: number;
  readonly msMax: number;
  /** Of all runs. */
  readonly rowsRead: number;
  /** Milliseconds since 1970. */
  readonly lastAt: number;
}

/** A copy of a database under a name. */
export interface DatabaseCopy {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
}

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

/** A message of a queue, or a dead letter. */
export interface QueuedMessage {
  readonly id: string;
  readonly payload: unknown;
  readonly attempt: number;
  /** When it was sent, in milliseconds since 1970. */
  readonly timestamp: number;
  /** When it is delivered next; null: it is not by itself. */
  readonly dueAt: number | null;
  readonly deadReason: string | null;
}

/** A run of a workflow, as a list shows it. Times are milliseconds since 1970. */
export interface WorkflowRun {
  readonly id: string;
  readonly status: 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';
  readonly error: { readonly name: string; readonly message: string } | null;
  readonly deployment: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
}

/** A step of a run. */
export interface WorkflowStep {
  readonly name: string;
  readonly kind: 'run' | 'sleep' | 'event';
  readonly status: 'done' | 'failed' | 'waiting';
  /** Attempts that failed. */
  readonly attempts: number;
  readonly result: unknown;
  readonly error: { readonly name: string; readonly message: string } | null;
  readonly wakeAt: number | null;
  readonly eventType: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** A run with all that it has behind it. */
export interface WorkflowRunDetail extends WorkflowRun {
  readonly input: unknown;
  readonly output: unknown;
  readonly steps: readonly WorkflowStep[];
  readonly log: readonly { readonly at: number; readonly message: string; readonly content: unknown }[];
}

/** A timer that is set. */
export interface SetTimer {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly scheduledTime: number;
  readonly payload: unknown;
  readonly intervalMs: number | null;
  readonly cron: string | null;
  readonly timezone: string | null;
}

/** A schedule of platform.yaml. Times are milliseconds since 1970. */
export interface ScheduleStatus {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly nextAt: number;
  readonly lastAt: number | null;
  /** `ok` or an error's code. */
  readonly lastOutcome: string | null;
}

/** A user of an app. Times are ISO 8601. */
export interface AppUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly emailVerified: boolean;
  readonly createdAt: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A session of a user; its token is nobody's to see. Times are milliseconds since 1970. */
export interface UserSession {
  readonly id: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly address: string | null;
  readonly userAgent: string | null;
}

/** Something that a cache binding keeps at the moment. */
export interface CacheEntry {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

interface Page {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

interface ById {
  readonly id: string;
}

/**
 * Each operation: what it takes beside `binding`, and what it gives. `binding` is a binding's name in platform.yaml, or
 * the name of its resource.
 */
export interface ResourceOperations {
  /** Which bindings the deployment declares; takes no `binding`. */
  readonly 'resources.list': {
    readonly takes: Nothing;
    readonly gives: {
      readonly resources: readonly {
        readonly kind: ResourceKind;
        readonly binding: string;
        readonly resource: string;
      }[];
    };
  };
  readonly 'db.tables': { readonly takes: Nothing; readonly gives: { readonly tables: readonly DescribedTable[] } };
  /**
   * A page of a table's rows. A value of more than 1000 bytes comes as its beginning: `{cut: bytes, t: text}` or
   * `{cut: bytes, b: base64}`.
   */
  readonly 'db.rows': {
    readonly takes: {
      readonly table: string;
      readonly limit?: number | undefined;
      readonly offset?: number | undefined;
      readonly order?: string | undefined;
      readonly descending?: boolean | undefined;
      /** Rows of which this column contains `search`. */
      readonly column?: string | undefined;
      readonly search?: string | undefined;
    };
    readonly gives: {
      readonly table: DescribedTable;
      readonly total: number;
      /** Columns that name one row: the primary key, or `rowid`; empty where rows have no name. */
      readonly key: readonly string[];
      /** Of each row, values of `key`. */
      readonly keys: readonly (readonly unknown[])[];
      readonly rows: readonly (readonly unknown[])[];
    };
  };
  /** One value, whole. */
  readonly 'db.cell': {
    readonly takes: { readonly table: string; readonly column: string; readonly key: readonly unknown[] };
    readonly gives: { readonly value: unknown };
  };
  /** One statement; rows beyond 1000 are left out (`truncated`). Blobs are `{b: base64}`, large integers `{i}`. */
  readonly 'db.query': {
    readonly takes: { readonly sql: string; readonly params?: readonly unknown[] | undefined };
    readonly gives: {
      readonly columns: readonly string[];
      readonly rows: readonly (readonly unknown[])[];
      readonly truncated: boolean;
      readonly meta: StatementMeta;
    };
  };
  /** How a statement would be run, without running it. */
  readonly 'db.explain': {
    readonly takes: { readonly sql: string; readonly params?: readonly unknown[] | undefined };
    readonly gives: {
      readonly plan: readonly { readonly id: number; readonly parent: number; readonly detail: string }[];
    };
  };
  readonly 'db.slow': { readonly takes: Nothing; readonly gives: { readonly statements: readonly SlowStatement[] } };
  /** Any number of statements, in one transaction. */
  readonly 'db.script': {
    readonly takes: { readonly sql: string };
    readonly gives: { readonly count: number; readonly durationMs: number };
  };
  /** Names of migrations that were applied, and of those that the deployment has beyond them. */
  readonly 'db.migrations': {
    readonly takes: Nothing;
    readonly gives: { readonly applied: readonly string[]; readonly pending: readonly string[] };
  };
  /** Applies what is pending. */
  readonly 'db.migrate': { readonly takes: Nothing; readonly gives: { readonly applied: readonly string[] } };
  /** A consistent copy as a SQLite file, at `file`: an absolute path in the data folder that does not exist yet. */
  readonly 'db.copy': { readonly takes: { readonly file: string }; readonly gives: { readonly bytes: number } };
  /** Copies that are kept with the database: those of releases, and those that somebody made. Production's only. */
  readonly 'db.copies': {
    readonly takes: Nothing;
    readonly gives: { readonly copies: readonly DatabaseCopy[]; readonly bytes: number; readonly copiesMax: number };
  };
  readonly 'db.make-copy': {
    readonly takes: Nothing;
    readonly gives: { readonly copy: DatabaseCopy; readonly dropped: readonly string[] };
  };
  /** Puts a copy in the place of the database; `before` is the copy of what it replaced. */
  readonly 'db.restore': { readonly takes: { readonly name: string }; readonly gives: { readonly before: string } };
  readonly 'db.drop-copy': { readonly takes: { readonly name: string }; readonly gives: Nothing };
  readonly 'state.list': {
    readonly takes: Page & { readonly prefix?: string | undefined };
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
      /** Writes only over this version; null: only where there is nothing. */
      readonly version?: string | null | undefined;
    };
    /** False: the version is another. */
    readonly gives: { readonly written: boolean };
  };
  readonly 'state.delete': { readonly takes: { readonly key: string }; readonly gives: Nothing };
  readonly 'fs.list': {
    readonly takes: Page & { readonly prefix?: string | undefined; readonly delimiter?: string | undefined };
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
  readonly 'queue.stats': {
    readonly takes: Nothing;
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
  readonly 'queue.list': {
    readonly takes: {
      /** The dead letters. */
      readonly dead?: boolean | undefined;
      readonly after?: number | undefined;
      readonly limit?: number | undefined;
    };
    readonly gives: {
      readonly messages: readonly QueuedMessage[];
      /** For `after` of the next question; null: these were the last. */
      readonly next: number | null;
    };
  };
  readonly 'queue.send': {
    readonly takes: {
      readonly payload: unknown;
      readonly delaySeconds?: number | undefined;
      readonly dedupeId?: string | undefined;
      readonly orderingKey?: string | undefined;
    };
    readonly gives: { readonly messageId: string };
  };
  /** False: it is gone, or being delivered. */
  readonly 'queue.remove': {
    readonly takes: ById & { readonly dead?: boolean | undefined };
    readonly gives: { readonly removed: boolean };
  };
  /** Sends dead letters to their queue again: all, or one. */
  readonly 'queue.redrive': {
    readonly takes: { readonly id?: string | undefined };
    readonly gives: { readonly count: number };
  };
  readonly 'queue.purge': {
    readonly takes: { readonly dead?: boolean | undefined };
    readonly gives: { readonly count: number };
  };
  readonly 'workflow.list': {
    readonly takes: Page & { readonly status?: string | undefined };
    readonly gives: { readonly runs: readonly WorkflowRun[]; readonly cursor: string | null };
  };
  readonly 'workflow.get': { readonly takes: ById; readonly gives: { readonly run: WorkflowRunDetail | null } };
  readonly 'workflow.start': {
    readonly takes: { readonly input?: unknown; readonly id?: string | undefined };
    readonly gives: { readonly id: string };
  };
  readonly 'workflow.cancel': { readonly takes: ById; readonly gives: Nothing };
  readonly 'workflow.pause': { readonly takes: ById; readonly gives: Nothing };
  readonly 'workflow.resume': { readonly takes: ById; readonly gives: Nothing };
  readonly 'workflow.restart': {
    readonly takes: ById & { readonly fromStep?: string | undefined };
    readonly gives: Nothing;
  };
  readonly 'workflow.event': {
    readonly takes: ById & { readonly type: string; readonly payload?: unknown };
    readonly gives: Nothing;
  };
  readonly 'timer.list': {
    readonly takes: Page & { readonly prefix?: string | undefined };
    readonly gives: { readonly timers: readonly SetTimer[]; readonly cursor: string | null };
  };
  readonly 'timer.set': {
    readonly takes: ById & {
      readonly at?: number | string | undefined;
      readonly afterMs?: number | undefined;
      readonly payload?: unknown;
      readonly intervalMs?: number | undefined;
      readonly cron?: string | undefined;
      readonly timezone?: string | undefined;
    };
    readonly gives: Nothing;
  };
  /** False: there is none. One that comes again goes on from here. */
  readonly 'timer.run': { readonly takes: ById; readonly gives: { readonly found: boolean } };
  readonly 'timer.delete': { readonly takes: ById; readonly gives: Nothing };
  /** The schedules of platform.yaml; takes no `binding`. */
  readonly 'cron.list': { readonly takes: Nothing; readonly gives: { readonly schedules: readonly ScheduleStatus[] } };
  /** Null: there is none of that name. False: it is running, and does so once more by itself when it is due. */
  readonly 'cron.run': {
    readonly takes: { readonly name: string };
    readonly gives: { readonly triggered: boolean | null };
  };
  /** The binding is the one of `auth`; takes no `binding`, as the next ones. */
  readonly 'users.list': {
    readonly takes: Page & { readonly email?: string | undefined };
    readonly gives: { readonly users: readonly AppUser[]; readonly cursor: string | null };
  };
  readonly 'users.create': {
    readonly takes: {
      readonly email: string;
      readonly password?: string | undefined;
      readonly name?: string | undefined;
      readonly emailVerified?: boolean | undefined;
      readonly metadata?: Readonly<Record<string, unknown>> | undefined;
    };
    readonly gives: { readonly user: AppUser };
  };
  readonly 'users.delete': { readonly takes: ById; readonly gives: Nothing };
  readonly 'users.sessions': {
    readonly takes: ById;
    /** `methods`: `credential` is a password. */
    readonly gives: { readonly sessions: readonly UserSession[]; readonly methods: readonly string[] };
  };
  readonly 'users.end-session': { readonly takes: ById & { readonly session: string }; readonly gives: Nothing };
  readonly 'users.settings': {
    readonly takes: Nothing;
    readonly gives: { readonly providers: readonly string[]; readonly requiresVerification: boolean };
  };
  readonly 'cache.list': {
    readonly takes: { readonly limit?: number | undefined };
    readonly gives: { readonly entries: readonly CacheEntry[] };
  };
  readonly 'cache.get': { readonly takes: { readonly key: string }; readonly gives: { readonly value: string | null } };
  readonly 'cache.delete': { readonly takes: { readonly key: string }; readonly gives: Nothing };
}

/** The name of an operation. */
export type ResourceOperation = keyof ResourceOperations;

/** What reads: everything else changes what a binding holds. */
export const readingOperations: readonly ResourceOperation[] = [
  'resources.list',
  'db.tables',
  'db.rows',
  'db.cell',
  'db.explain',
  'db.slow',
  'db.migrations',
  'db.copy',
  'db.copies',
  'state.list',
  'state.get',
  'fs.list',
  'fs.get',
  'queue.stats',
  'queue.list',
  'workflow.list',
  'workflow.get',
  'timer.list',
  'cron.list',
  'users.list',
  'users.sessions',
  'users.settings',
  'cache.list',
  'cache.get',
];

/** The body of `POST /_platform/data`. */
export interface ResourceCall<Operation extends ResourceOperation = ResourceOperation> {
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
export interface ResourceAnswer<Operation extends ResourceOperation> {
  readonly result: ResourceOperations[Operation]['gives'];
}
