// Messages between the plugin and its engine (`platform vite engine`): one line of JSON each, on the engine's
// standard input and output. This file contains only types, because the command line imports it too.

/** A module of a Vite environment. Without code, the module is unchanged. */
export type SentModule = readonly [url: string, id: string, file: string | null, code?: string, map?: string | null];

/** Location of the project's files for `env.ASSETS`. */
export interface SentFiles {
  /** URL at which Vite responds as to a browser. */
  readonly url: string;
  /** Folder of pages. */
  readonly root: string;
  /** Folder of files served unchanged, or null. */
  readonly publicFolder: string | null;
}

/** To the engine. */
export type ToEngine =
  | {
      readonly type: 'start';
      /** Folder of the project. */
      readonly folder: string;
      /** Configuration file; null means `platform.yaml` there. */
      readonly config: string | null;
      /** Host under which visitors reach the project: Vite's own address. */
      readonly host: string;
      readonly port: number;
      /** 0: a free port. */
      readonly dashboardPort: number;
      readonly verbose: boolean;
    }
  /** Vite listens on another address than planned. */
  | { readonly type: 'address'; readonly host: string; readonly port: number }
  /** The worker has changed. */
  | {
      readonly type: 'worker';
      readonly number: number;
      /** The file of `vite/module-runner`. */
      readonly runnerFile: string;
      /** URL at which the isolate requests other modules. */
      readonly channel: string;
      readonly files: SentFiles;
      readonly entry: { readonly environment: string; readonly url: string };
      readonly builtins: readonly string[];
      readonly environments: Readonly<Record<string, readonly SentModule[]>>;
    }
  /** Configuration, variables or migrations have changed: the last worker is deployed again. */
  | { readonly type: 'reload'; readonly number: number };

/** A problem, for people. */
export interface EngineFailure {
  readonly message: string;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly frame?: string | undefined;
  readonly advice?: string | undefined;
}

/** From the engine. */
export type FromEngine =
  | { readonly type: 'ready'; readonly port: number; readonly dashboardUrl: string | null }
  /** The request with this number is served. */
  | { readonly type: 'deployed'; readonly number: number }
  | { readonly type: 'failed'; readonly number: number; readonly failures: readonly EngineFailure[] };
