// A row of the table of frameworks: what the app of a framework has, and what came out. Every app answers the same
// paths with the same words, so that one visitor (checks.ts) tries them all:
//   /?name=Ada           `Hello, Ada`, `version one` and a button that counts in the browser
//   /api/hello?name=Ada  {"hello":"Ada"}
//   /stream              `first part`, and half a second later `second part`
//   /form                a form that posts `name`, and then a page with `Thanks, Ada`
//   /missing             404
//   /robots.txt          a file of the app's public folder
// Of static apps `_headers` gives that file an `x-robots-tag`, and `_redirects` leads to it from /old.
// and have the scripts and styles that their pages name.

/** What a visitor tries, in the order of the table's columns. */
export const checkNames = ['page', 'api', 'stream', 'form', 'missing', 'assets', 'browser'] as const;
export type CheckName = (typeof checkNames)[number];

/** A framework's app in `test/frameworks/apps/`. */
export interface Row {
  /** Its name, and its folder where {@link folder} has no other. */
  readonly app: string;
  /** The folder of another row's app, which this one is a variant of. */
  readonly folder?: string;
  /** Files that a variant has otherwise. */
  readonly writes?: Readonly<Record<string, string>>;
  readonly title: string;
  /** The package whose version the table shows. */
  readonly shows: string;
  /** The kind that its artifact is to have. */
  readonly kind: 'dynamic' | 'ssr' | 'static';
  /** The file of the app that says `version one`. */
  readonly edits: string;
  /** Path of the page that its server renders; default: `/`. */
  readonly page?: string;
  /** Path of a second page, of static apps that have one: it says `About`, and its address has no ending. */
  readonly second?: string;
  /** Path that shows the edit; default: that page. */
  readonly editedAt?: string;
  /** Packages of this repository that it has installed, by their folder in `packages/`. */
  readonly packages?: readonly string[];
  /** What is otherwise in dev by the framework's own rules: Vite answers every path of such an app by its page. */
  readonly untriedInDev?: readonly CheckName[];
  /** What the framework does not have, with the reason. */
  readonly holes?: Readonly<Partial<Record<CheckName, string>>>;
}

/** The folder of a row's app in `test/frameworks/apps/`. */
export function folderOf({ app, folder = app }: Pick<Row, 'app' | 'folder'>): string {
  return folder;
}

/** What came out of one step: what the table shows, or why there is nothing. */
export type Cell = { readonly shown: string } | { readonly failed: string } | { readonly hole: string };

/** The columns of a row. */
export type Column = 'dev' | 'edit' | 'build' | 'deploy' | CheckName;

/** A row that was run. */
export interface Outcome {
  readonly row: Row;
  readonly version: string;
  readonly cells: Readonly<Partial<Record<Column, Cell>>>;
}
