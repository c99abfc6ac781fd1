// The interface between the engine of `platform dev` (dev.ts) and the code that starts it: the command and the Vite
// plugin. Types only.
import type { AiCaller } from '#core/ai-caller.ts';
import type { Limits } from '#core/limits.ts';
import type { InvocationKind } from '#core/plans.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { EventRecord } from '../../engine/invocation/event-record.ts';
import type { LogLine } from '../../engine/invocation/log.ts';
import type { ShownError } from '../failures/failure-page.ts';

/** A finished request or event. */
export interface DevRequest {
  readonly kind: InvocationKind;
  /** Method of a request; empty for events. */
  readonly method: string;
  /** Path and query; empty for events. */
  readonly path: string;
  /** 0 for events. */
  readonly status: number;
  /** Null for requests. */
  readonly event: EventRecord | null;
  /** `ok`, or the code of an error. */
  readonly outcome: string;
  /** The reason of an error in words, such as the error that the worker threw. */
  readonly reason: string;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** The migrations of one database, with names and SQL. */
export interface DevMigrations {
  readonly resource: string;
  readonly files: readonly (readonly [name: string, sql: string])[];
}

/** A project of the workspace that the served project calls. */
export interface DevService {
  readonly project: string;
  /** An artifact that the builder has written to `<folder>/artifacts/<id>`. */
  readonly artifactFolder: string;
  readonly migrations: readonly DevMigrations[];
  readonly vars: Readonly<Record<string, string>>;
}

/** The deployment to serve from now on. */
export interface DevDeployment {
  /** An artifact that the builder has written to `<folder>/artifacts/<id>`. */
  readonly artifactFolder: string;
  /** Migrations are applied before the deployment is served. */
  readonly migrations: readonly DevMigrations[];
  readonly vars: Readonly<Record<string, string>>;
  /** platform.yaml with its defaults, for the dashboard. */
  readonly config?: unknown;
  /** Projects that the project calls; by default none. */
  readonly services?: readonly DevService[];
}

/** Where the files of a dev server are. */
export interface ServedFiles {
  /**
   * URL prefix of the served files, to which the path of a request is appended. The server responds with 404 if the
   * file does not exist.
   */
  readonly url: string;
  /** The folder of the HTML pages. */
  readonly root: string;
  /** The folder of files that are served unchanged, or null. */
  readonly publicFolder: string | null;
}

/** Options of `startDev`. */
export interface DevOptions {
  readonly host: string;
  /** 0 = a free port. */
  readonly port: number;
  /** Folder of state, files and other data: `.platform` of the project or its workspace. */
  readonly stateFolder: string;
  /** The limits; by default from the environment, as in production. */
  readonly limits?: Limits;
  readonly log: (record: { level: LogLine['level']; message: string }) => void;
  readonly onRequest: (request: DevRequest) => void;
  /**
   * Name of the project, which distinguishes its timers and schedules from those of other projects in its workspace; by
   * default `dev`.
   */
  readonly project?: string;
  /** Serves requests to the AI gateway, if there is one. */
  readonly ai?: DevAi;
  /** Public host and port of a server in front of this one, if there is one. */
  readonly front?: () => { readonly host: string; readonly port: number };
  /** Static files for the worker, if the server in front of this one has them; if absent, they are in the artifact. */
  readonly files?: () => ServedFiles | null;
  /**
   * Port of the dashboard; 0 means a free port; if absent, there is no dashboard. If the port is taken, dev prints a
   * warning and continues without a dashboard.
   */
  readonly dashboardPort?: number;
}

/** The AI gateway of `platform dev`. */
export interface DevAi {
  /** @param caller null if a token identifies the caller. */
  fetch(request: Request, caller: AiCaller | null): Promise<Response>;
  /** `PLATFORM_AI_TOKEN`. */
  readonly token: string;
  /** The value of `PLATFORM_AI_URL`; null means the URL of the dashboard. */
  readonly url: string | null;
}

/** The deployment to serve from now on, with an artifact that is not in a folder. */
export interface OpenDeployment extends Omit<DevDeployment, 'artifactFolder'> {
  readonly artifact: OpenArtifact;
}

/** An engine that also accepts artifacts that are not in a folder. */
export interface OpenDevEngine extends DevEngine {
  /** As `deploy`. */
  deployOpen(deployment: OpenDeployment): Promise<void>;
}

/** A running engine with one deployment. */
export interface DevEngine {
  readonly port: number;
  /** URL of the dashboard, or null. */
  readonly dashboardUrl?: string | null;
  /** Variables that the platform adds to those of the project, for its code outside of isolates. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Serves a new deployment. Running requests finish with their old code; the next request uses the new code. */
  deploy(deployment: DevDeployment): Promise<void>;
  /**
   * Called when the project does not build: requests get the errors if no build can be served yet, and failure pages
   * show them.
   */
  fail(errors: readonly ShownError[]): void;
  close(): Promise<void>;
}
