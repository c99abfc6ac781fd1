// Dependencies of the control plane: created once by main.ts (and test/setup/control.ts), `ctx.env` of routes.
import type { Logger } from 'pino';
import type { ArchiveLimits } from '#artifacts/archive/read-archive.ts';
import type { RouteFiles } from '#artifacts/route-files.ts';
import type { ArtifactStore } from '#artifacts/store/artifact-store.ts';
import type { OperatorAi } from '#core/ai-readiness.ts';
import type { EdgeState } from '#core/edge-state.ts';
import type { EncryptionKeys } from '#core/encryption.ts';
import type { GitConfiguration } from '#git/configuration.ts';
import type { MigrationsExecutor } from '#core/migrations-executor.ts';
import type { ControlLimits, CpuLimits, DatabaseLimits, StorageLimits, TelemetryLimits } from '#core/limits.ts';
import type { SandboxService } from '#resources/sandbox-calls.ts';
import type { Sql } from '#postgres/sql.ts';
import type { SignedIn } from '../access/actor.ts';
import type { OidcProvider } from '../access/oidc/provider.ts';
import type { Passwords } from '../access/passwords.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Addresses, GitHostSettings, SignInWay, SignUp } from './configuration.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Mailer } from './mailer.ts';
import type { NameRecords } from './name-records.ts';
import type { PrivatePort } from './private-port.ts';
import type { KeyedMutex } from './keyed-mutex.ts';

/** Limits of uploads; the defaults are in core/limits.ts. */
export interface UploadLimits extends ArchiveLimits {
  /** Free disk space to keep. */
  readonly diskFreeBytesMin: number;
}

/** The dependencies of one API process. */
export interface Dependencies {
  readonly sql: Sql;
  readonly log: Logger;
  readonly keys: EncryptionKeys;
  /** Data folder (`FS_PATH`), shared with handlers: route records, artifacts, repositories. */
  readonly folder: string;
  /** Artifacts of all machines. */
  readonly artifacts: ArtifactStore;
  /** Route records, for the handlers of all machines. */
  readonly routes: RouteFiles;
  /** Private port of the supervisors, to call engines; responds `no_engine` while none is running. */
  readonly privatePort: PrivatePort;
  readonly addresses: Addresses;
  /** The Git host, and which remotes may be private. */
  readonly git: GitConfiguration;
  readonly limits: ControlLimits;
  readonly signIn: SignIn;
  /** CPU limits per invocation, by kind and plan. */
  readonly cpuLimits: CpuLimits;
  /** Limits of stored lines, invocations and traces. */
  readonly telemetryLimits: TelemetryLimits;
  /** Storage limits of organizations, and where data is stored. */
  readonly storage: StorageSettings;
  /** Settings that operators change while the platform runs. */
  readonly settings: LiveSettings;
  /** Sends emails, if `AUTH_MAIL_URL` is set. */
  readonly mail: Mailer;
  /** Public DNS. */
  readonly names: NameRecords;
  /** Certificates of the edge; null if no edge runs on this data folder. */
  readonly edgeState: () => EdgeState | null;
  /** Client address of a request, by `TRUSTED_PROXIES`; null if unknown. */
  readonly clientAddress: (request: Request) => string | null;
  /** The account of a request's session cookie; null without a session. Does not check the request's origin. */
  readonly findSession: (request: Request) => Promise<SignedIn | null>;
  /** Listens for NOTIFY. Once it listens, resolves with a function that stops listening. */
  readonly onNotify: (channel: Channel, listener: (payload: string) => void) => Promise<() => Promise<void>>;
  /** Limits of uploads. */
  readonly uploadLimits: UploadLimits;
  /** Limits of files imported into databases. */
  readonly databaseLimits: Pick<DatabaseLimits, 'importBytesMax' | 'diskFreeBytesMin'>;
  /** Serializes work by key, such as a project or record. */
  readonly mutex: KeyedMutex;
  /** `DB_MIGRATIONS_EXECUTOR`: the process that applies migrations. */
  readonly migrationsExecutor: MigrationsExecutor;
  /** `SANDBOX_URL`: the sandbox service, or null. */
  readonly sandboxes: SandboxService | null;
  /** The operator's AI gateway settings, or null. */
  readonly operatorAi: OperatorAi | null;
  /** Runs work in the background; the process waits for it before it exits. */
  readonly background: (what: string, work: () => Promise<void>) => void;
  /** Aborted when the process shuts down. */
  readonly stopping: AbortSignal;
}

/** Dependencies of sign-in. */
export interface SignIn {
  readonly sessions: Sessions;
  /** `AUTH_SECRET`. */
  readonly secret: string;
  readonly gitHost: GitHostSettings;
  /** The OpenID Connect provider, or null. */
  readonly oidc: OidcProvider | null;
  readonly signUp: SignUp;
  /** `SIGN_IN`. */
  readonly ways: readonly SignInWay[];
  readonly passwords: Passwords;
}

/** Storage settings of the control plane. */
interface StorageSettings {
  readonly limits: StorageLimits;
  /** `DISK_FREE_BYTES_MIN`. */
  readonly diskFreeBytesMin: number;
  /** Whether Postgres is embedded and stores its data on the data folder's disk. */
  readonly isPostgresLocal: boolean;
}

/**
 * Channels of NOTIFY, with these payloads. `control_job`: a kind of job. `control_route`, `control_collector`,
 * `control_project_data`: the id of a project. `control_log`, `control_deployment`: the id of a deployment.
 * `control_git`: `delivery` or `report`. `control_telemetry`: ids of projects, separated by commas, or `*`.
 * `control_migration`: the id of a migration run. The other channels have no payload.
 */
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
  | 'control_storage'
  | 'control_mail'
  | 'control_setting'
  | 'control_project_data';
