// What the plugin and the engine behind it (`platform vite engine`) say to each other: a line of JSON each, on the
// engine's standard input and output. Types only: the program reads them too.

/** A module of a Vite environment. One without code is as it was told before. */
export type SentModule = readonly [url: string, id: string, file: string | null, code?: string, map?: string | null];

/** Where `env.ASSETS` finds the files of the project. */
export interface SentFiles {
  /** Vite answers behind this address as it answers a browser. */
  readonly url: string;
  /** Folder of pages. */
  readonly root: string;
  /** Folder of what is served as it lies; null: there is none. */
  readonly publicFolder: string | null;
}

/** To the engine. */
export type ToEngine =
  | {
      readonly type: 'start';
      /** Folder of the project. */
      readonly folder: string;
      /** Configuration file; null: `platform.yaml` there. */
      readonly config: string | null;
      /** Where visitors reach the project: Vite's own address. */
      readonly host: string;
      readonly port: number;
      /** 0: a free one. */
      readonly dashboardPort: number;
      readonly verbose: boolean;
    }
  /** Vite listens elsewhere than it was to. */
  | { readonly type: 'address'; readonly host: string; readonly port: number }
  /** The worker is another. */
  | {
      readonly type: 'worker';
      readonly number: number;
      /** The file of `vite/module-runner`. */
      readonly runnerFile: string;
      /** Where the isolate asks for modules that are not among these. */
      readonly channel: string;
      readonly files: SentFiles;
      readonly entry: { readonly environment: string; readonly url: string };
      readonly builtins: readonly string[];
      readonly environments: Readonly<Record<string, readonly SentModule[]>>;
    }
  /** Configuration, variables or migrations are others: the last worker is deployed again. */
  | { readonly type: 'reload'; readonly number: number };

/** What is wrong, for people. */
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
  /** What was asked for under this number serves. */
  | { readonly type: 'deployed'; readonly number: number }
  | { readonly type: 'failed'; readonly number: number; readonly failures: readonly EngineFailure[] };
