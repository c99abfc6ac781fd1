// What `platform dev` needs of the runtime: the shape of runtime/dev.ts, so that this folder can be tested without an engine.
import { existsSync } from 'node:fs';
import { CliError } from './failure.ts';
import { sourceFile } from './locations.ts';

/** A request that ended. */
export interface RequestRecord {
  readonly method: string;
  /** Path and query. */ readonly path: string;
  readonly status: number;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** A line of the worker's log: `console`, or an uncaught error with its mapped stack. */
export interface LogRecord {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
}

/** What to serve from now on. */
export interface DevDeployment {
  readonly artifactFolder: string;
  readonly vars: Readonly<Record<string, string>>;
}

/** A running engine with one deployment, answering on every host. */
export interface DevEngine {
  readonly port: number;
  /** Requests that run finish on the code they began with; the next one sees the new code. */
  deploy(deployment: DevDeployment): Promise<void>;
  close(): Promise<void>;
}

/** Opens the port; rejects with the system's error (`EADDRINUSE`) when it cannot be had. */
export type StartDev = (options: {
  readonly host: string;
  readonly port: number;
  readonly log: (record: LogRecord) => void;
  readonly onRequest: (record: RequestRecord) => void;
}) => Promise<DevEngine>;

/** The engine of this installation. */
export async function loadStartDev(): Promise<StartDev> {
  if (!existsSync(sourceFile('runtime/dev'))) throw new CliError('`platform dev` is not built yet: runtime/dev.ts is missing');
  const { startDev } = (await import('#runtime/dev.ts' as string)) as { startDev: StartDev };
  return startDev;
}
