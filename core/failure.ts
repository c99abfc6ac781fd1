// Failures that one part of the platform throws and another part handles. Failures never reach a client: each interface
// maps them to a code of errors.ts. Imports nothing.

/** Every kind of failure, with its fields. */
interface FailureFields {
  // Failures of work under a lease.
  /** Another process holds the lease now: make no further changes. */
  lease_lost: object;
  /** The process is stopping: the work is retried later. */
  process_stopped: object;

  // Failures of engines, when the supervisor or a release calls them.
  /** `unreached`: no process listens, so the event was not started; `lost`: the connection broke. */
  engine_call: { readonly reason: 'unreached' | 'lost' | 'late' | 'too_large' };
  /** No engine is available at the moment: retry. */
  engines_away: object;
  /** An engine refused the call, with a code of errors.ts. */
  engine_refused: { readonly code: string };
  /** Not all engines have the route record yet: retry. */
  not_routed: object;
  /**
   * A migration failed; the message names its file. The database keeps the migrations that were applied before this
   * one.
   */
  migrations_failed: object;
  /** The release ends with a status other than `success`. */
  release_ended: { readonly status: 'failure' | 'canceled'; readonly reason: string };

  // Git.
  /** `unreachable`: may be retried; `limited`: retry after `retryAfterMs`; `refused`: fails until something changes. */
  git_host: {
    readonly reason: 'unreachable' | 'limited' | 'refused';
    /** HTTP status; 0 without a response. */
    readonly status: number;
    readonly retryAfterMs?: number;
  };
  /** A repository's URL or credentials are invalid. */
  remote_refused: object;
  /** The server of a repository did not list its branches. */
  remote_unreadable: object;
  /** The source of a build cannot be cloned until something changes. */
  clone_refused: object;
  /** A webhook of the Git host has unexpected content. */
  delivery_malformed: object;

  // Builds.
  /** A build ended without an artifact: `reason` is a code of errors.ts, or why it was canceled. */
  build: { readonly reason: string; readonly status: 'failure' | 'timeout' | 'canceled' };

  // Sign-in.
  /** An OAuth error of the token endpoint, with its code in the protocol. */
  oauth: { readonly code: string };
  /** The Git host did not confirm the sign-in. */
  sign_in_refused: object;
  /**
   * The OpenID Connect provider did not confirm the sign-in: it is `away`, `denied` it, its clock or ours is wrong, it
   * named no `subject`, its `groups` cannot be read, or its answer is `invalid`.
   */
  oidc_refused: { readonly why: 'away' | 'denied' | 'clock' | 'subject' | 'groups' | 'invalid' };

  // Sandboxes.
  /** Error response of a hosted sandbox provider; the status is 0 if there was no response, or an unreadable one. */
  sandbox_provider: { readonly status: number };
  /** Error response of the container engine; status 0: no response. */
  container_engine: { readonly status: number };

  // The AI gateway.
  /** A provider's response cannot be parsed. */
  unreadable_answer: object;
  /** The database of tokens and limits is unavailable. */
  accounts_away: object;

  // Bindings.
  /** A database service does not respond, or its connection broke: the operation may have been performed. */
  database_service_away: object;
  /**
   * Another engine has the durable object. The field is the path of that engine's socket for forwarded requests, empty
   * if it has none.
   */
  object_held: { readonly link: string };
  /** A value of the state is too large to be changed on the main thread. */
  state_value_large: object;

  /**
   * A pool has no connection for a session. The fields are the SQLSTATE for the client, and the unchanged error message
   * of the database server, if it sent one.
   */
  pool_refused: { readonly state: string; readonly body?: Uint8Array };

  // Failures of backup, restore and upgrade.
  /** The operation was refused or failed: a reason for programs, and how to fix it. */
  backup: {
    readonly reason:
      | 'damaged'
      | 'newer'
      | 'passphrase'
      | 'settings'
      | 'space'
      | 'running'
      | 'not_empty'
      | 'unfinished'
      | 'failed';
    readonly advice: string;
  };

  // Artifacts.
  /**
   * The store of artifacts has no such artifact (`missing`), does not respond (`away`, can be retried), refuses the
   * request (`refused`), or has content that does not match the id (`damaged`).
   */
  artifact_store: { readonly reason: 'missing' | 'away' | 'refused' | 'damaged' };

  // Files and settings.
  /** A variable of the process has an invalid value. */
  configuration: object;
  /** The encoding of a text file is unknown. */
  text_encoding: object;
  /** A database file cannot be imported. */
  unreadable_database: object;
  /** An artifact cannot be published. The fields name the file, and how to fix it. */
  publish: { readonly file?: string; readonly advice?: string };
}

/** A kind of {@link Failure}. */
type FailureKind = keyof FailureFields;

/** A failure inside the platform: an error with its kind, and the fields of that kind. */
export type Failure<Kind extends FailureKind = FailureKind> = Error & { readonly kind: Kind } & FailureFields[Kind];

/** The fields can be omitted if the kind requires none. */
type Options<Kind extends FailureKind> = object extends FailureFields[Kind]
  ? [options?: FailureFields[Kind] & ErrorOptions]
  : [options: FailureFields[Kind] & ErrorOptions];

class KnownFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, { cause, ...fields }: ErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Failure';
    this.kind = kind;
    Object.assign(this, fields);
  }
}

/**
 * Creates a failure.
 *
 * @example
 * throw new Failure('container_engine', 'The container engine does not answer', { status: 0, cause: error });
 */
export const Failure = KnownFailure as unknown as new <Kind extends FailureKind>(
  kind: Kind,
  message: string,
  ...[options]: Options<Kind>
) => Failure<Kind>;

/** Whether an error is a failure of one of these kinds. */
export function isFailure<Kind extends FailureKind>(error: unknown, ...kinds: readonly Kind[]): error is Failure<Kind> {
  return error instanceof KnownFailure && (kinds as readonly FailureKind[]).includes(error.kind);
}
