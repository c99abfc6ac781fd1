// What everything in the control plane is given: made once by main.ts (and test/setup/control.ts), `ctx.env` of routes.
import type { Logger } from 'pino';
import type { ArchiveLimits } from '#artifacts/archive/read-archive.ts';
import type { OperatorAi } from '#core/ai-readiness.ts';
import type { EdgeState } from '#core/edge-state.ts';
import type { EncryptionKeys } from '#core/encryption.ts';
import type { GitConfiguration } from '#git/configuration.ts';
import type { MigrationsExecutor } from '#core/migrations-executor.ts';
import type { ControlLimits, CpuLimits, DatabaseLimits, StorageLimits, TelemetryLimits } from '#core/limits.ts';
import type { SandboxService } from '#resources/sandbox-calls.ts';
import type { Sql } from '#postgres/sql.ts';
import type { SignedIn } from '../access/actor.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Addresses, GitHostSettings, SignUp } from './configuration.ts';
import type { NameRecords } from './name-records.ts';
import type { PrivatePort } from './private-port.ts';
import type { Turns } from './turns.ts';

/** Limits of uploads; the defaults are in core/limits.ts. */
export interface UploadLimits extends ArchiveLimits {
  /** What of the disk stays free. */
  readonly diskFreeBytesMin: number;
}

/** The dependencies of one API process. */
export interface Dependencies {
  readonly sql: Sql;
  readonly log: Logger;
  readonly keys: EncryptionKeys;
  /** Data folder (`FS_PATH`), which handlers share: route records, artifacts, repositories. */
  readonly folder: string;
  /** Of the supervisor, to ask engines; answers `no_engine` while none serves. */
  readonly privatePort: PrivatePort;
  readonly addresses: Addresses;
  /** The Git host, and which remotes may be private. */
  readonly git: GitConfiguration;
  readonly limits: ControlLimits;
  readonly signIn: SignIn;
  /** CPU that one invocation may use, by kind and plan. */
  readonly cpuLimits: CpuLimits;
  /** Bounds of what is kept of lines, invocations and traces. */
  readonly telemetryLimits: TelemetryLimits;
  /** What organizations may keep, and where they keep it. */
  readonly storage: StorageSettings;
  /** `AUTH_MAIL_URL`: takes letters; null: no mail is sent. */
  readonly mailUrl: string | null;
  /** DNS of the Internet. */
  readonly names: NameRecords;
  /** The certificates that the edge has; null where none runs on this data folder. */
  readonly edgeState: () => EdgeState | null;
  /** Address of a request's client, by `TRUSTED_PROXIES`; null where it is not known. */
  readonly clientAddress: (request: Request) => string | null;
  /** The account of a request's session cookie; null without a session. Does not look at the request's origin. */
  readonly findSession: (request: Request) => Promise<SignedIn | null>;
  /** Hears what others NOTIFY; resolves when it listens, with what ends it. */
  readonly onNotify: (channel: Channel, heard: (payload: string) => void) => Promise<() => Promise<void>>;
  /** Bounds of uploads. */
  readonly uploadLimits: UploadLimits;
  /** Of files that are imported into databases. */
  readonly databaseLimits: Pick<DatabaseLimits, 'importBytesMax' | 'diskFreeBytesMin'>;
  /** Has work of one project, or on one record, done in turn. */
  readonly turns: Turns;
  /** `DB_MIGRATIONS_EXECUTOR`: who applies migrations. */
  readonly migrationsExecutor: MigrationsExecutor;
  /** `SANDBOX_URL`: the sandbox service; null: there is none. */
  readonly sandboxes: SandboxService | null;
  /** What the operator has set of the AI gateway; null: there is none. */
  readonly operatorAi: OperatorAi | null;
  /** Runs work beside requests; it is waited for when the process ends. */
  readonly background: (what: string, work: () => Promise<void>) => void;
  /** Aborts when the process is to end. */
  readonly stopping: AbortSignal;
}

/** What sign-in needs. */
export interface SignIn {
  readonly sessions: Sessions;
  /** `AUTH_SECRET`. */
  readonly secret: string;
  readonly gitHost: GitHostSettings;
  readonly signUp: SignUp;
}

/** What the control plane needs to know of storage. */
interface StorageSettings {
  readonly limits: StorageLimits;
  /** `DISK_FREE_BYTES_MIN`. */
  readonly diskFreeBytesMin: number;
  /** Postgres is the embedded one, on the disk of the data folder. */
  readonly isPostgresLocal: boolean;
}

/** Channels of NOTIFY. Payloads: kind of job; project; deployment; deployment; `delivery` or `report`; nothing;
 * projects by comma, or `*`; project; nothing; run of migrations; nothing. */
export type Channel =
  | 'control_job'
  | 'control_route'
  | 'control_log'
  | 'control_deployment'
  | 'control_git'
  | 'control_webhook'
  | 'control_telemetry'
  | 'control_collector'
  | 'control_alert'
  | 'control_migration'
  | 'control_storage';
