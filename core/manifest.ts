// What the builder hands the handler: an artifact's manifest.json, and the route records that point at artifacts.
// Written by builder/ and cli/, read by runtime/. Data only; no I/O.
import type { Plan } from './plans.ts';
import type { PreviewSettings } from './preview-settings.ts';
import type { QueuesSettings } from './queue-settings.ts';

/** A file of `assets/` in an artifact. */
export interface AssetFile {
  /** SHA-256 of the plain content, hex. */
  readonly hash: string;
  readonly bytes: number;
  /** Content type with charset, ready to send. */
  readonly type: string;
  /** Compressed forms made at build, where they are smaller; each lies in `encoded/<hash>`, outside the URL space. */
  readonly encoded?: Readonly<Partial<Record<AssetEncoding, { readonly hash: string; readonly bytes: number }>>>;
}

/** Content codings that files are made ready in, as they are named in HTTP; best first. */
export const assetEncodings = ['br', 'gzip'] as const;
export type AssetEncoding = (typeof assetEncodings)[number];

/** A rule of `_headers`: what it changes in the answers with a file. Names in lower case. */
export interface AssetHeaderRule {
  /** Path pattern, or `https://host/path` pattern (core/path-pattern.ts). */
  readonly pattern: string;
  /** Values may hold `:placeholders`. */
  readonly set: readonly (readonly [name: string, value: string])[];
  readonly remove: readonly string[];
}

/** A rule of `_redirects`. */
export interface AssetRedirectRule {
  /** Path pattern. */
  readonly from: string;
  /** A path or a URL; may hold `:placeholders`. */
  readonly to: string;
  /** 200 serves the file of another path. */
  readonly status: 200 | 301 | 302 | 303 | 307 | 308;
  /** Of 200: also in place of a file that is there. */
  readonly force: boolean;
}

/** How static files are served (docs/static-files.md). */
export interface AssetRules {
  /** Name under which the worker sees the asset fetcher. */
  readonly binding: string | null;
  readonly notFoundHandling: 'none' | '404-page' | 'single-page-application';
  /** `true`: always the worker first; patterns: only those (a leading `!` excludes). */
  readonly runWorkerFirst: boolean | readonly string[];
  /** URL path without the leading slash -> file; the content lies in `assets/<path>`. */
  readonly files: Readonly<Record<string, AssetFile>>;
  /** Rules of `_headers`, in their order. */
  readonly headers?: readonly AssetHeaderRule[];
  /** Rules of `_redirects`, in their order: the first that fits counts. */
  readonly redirects?: readonly AssetRedirectRule[];
}

/** The migrations of one database: `migrations.json` of an artifact is a list of these. */
export interface DatabaseMigrations {
  readonly resource: string;
  /** Names and SQL, in the order of their names. */
  readonly files: readonly (readonly [name: string, sql: string])[];
}

/** The server of an ssr project: a Node process of its own, in an unpacked `server.tar` (runtime/ssr/). */
export interface ServerRules {
  /** Of `server.tar`, beside the manifest. */
  readonly hash: string;
  readonly bytes: number;
  /** Command of a shell, as `scripts.start` of package.json says it. */
  readonly start: string;
  /** Folder in the archive that it runs in; empty: its root. */
  readonly folder: string;
}

/** `manifest.json` of an artifact. The artifact id is the SHA-256 of its canonical JSON. */
export interface Manifest {
  readonly version: 1;
  readonly kind: 'static' | 'ssr' | 'dynamic';
  /** The bundle, `worker.js` beside the manifest (source map: `worker.js.map`); null for static projects. */
  readonly worker: { readonly hash: string; readonly bytes: number; readonly mapHash: string | null } | null;
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly assets: AssetRules | null;
  /** Declared bindings by kind: binding name -> resource name. `auth` has one, without a resource of its own. */
  readonly bindings: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Queues of which more is said than their names, by resource name; absent where there are none. */
  readonly queues?: QueuesSettings;
  /** Schedules by name; one without `overlap` skips what came due while it ran. */
  readonly cron: Readonly<
    Record<string, { readonly schedule: string; readonly timezone: string; readonly overlap?: 'queue' }>
  >;
  /** Of previews, where it is not as of all. */
  readonly previews?: Partial<PreviewSettings>;
  /** `migrations.json` beside the manifest; absent where there are none. */
  readonly migrations?: { readonly hash: string };
  readonly ai: boolean;
  readonly skewProtection: boolean;
  /** Of `ssr`: what runs in Node beside the worker, which answers calls of bindings there. */
  readonly server?: ServerRules;
}

/** One deployment of a project, in its route record. */
export interface DeploymentRecord {
  readonly id: string;
  /** Artifact id: folder `artifacts/<id>` under `FS_PATH`. */
  readonly artifact: string;
  readonly branch: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** What it was deployed as; absent in older records. */
  readonly target?: 'production' | 'preview';
  /** The variables it was released with, in place of those that the record has for it. */
  readonly vars?: Readonly<Record<string, string>>;
  /** ISO 8601: when production, or its branch's URL, last went on to another one; absent where a rollback left it. */
  readonly supersededAt?: string;
}

/** A part of production's visitors that another deployment serves, until it is promoted or taken back. */
export interface RouteSplit {
  readonly deployment: string;
  /** 0 to 100, whole. */
  readonly percent: number;
}

/** What previews want before anything of them is shown (core/preview-access.ts makes both). */
export interface RouteProtection {
  readonly passwordHash: string;
  /** SHA-256 in hex of the token that programs send instead; without it there is none. */
  readonly bypassHash?: string;
}

/** Whose a project is, by ids of the control plane. */
export interface RouteOwner {
  readonly organization: string;
  readonly project: string;
}

/** `routes/<project>.json` under `FS_PATH`: everything the handler needs to route to a project. */
export interface RouteRecord {
  readonly version: 1;
  readonly project: string;
  readonly plan: Plan;
  /** Absent in records that no control plane wrote. */
  readonly owner?: RouteOwner;
  /** Variables of production: `env.vars.KEY`. Previews never see them. */
  readonly vars: Readonly<Record<string, string>>;
  /** Variables of all previews. */
  readonly previewVars?: Readonly<Record<string, string>>;
  /** Branch -> variables that its previews have besides; they go before those of all previews. */
  readonly branchVars?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Custom hosts, lower case, without port. */
  readonly domains: readonly string[];
  /** Custom host -> branch whose deployment it serves; a preview like that branch's own host. */
  readonly branchDomains?: Readonly<Record<string, string>>;
  /** Custom host -> host that its visitors are sent on to, path and query kept. */
  readonly redirects?: Readonly<Record<string, string>>;
  /** Deployment that `<project>.<domain>` and the custom hosts serve. */
  readonly production: string | null;
  /** Of production's visitors, those that another deployment serves: it works on production's resources too. */
  readonly split?: RouteSplit | null;
  /** Of previews; absent: anybody may see them. */
  readonly protection?: RouteProtection | null;
  /** Deployments that were production before, the last one at the end. */
  readonly productionHistory?: readonly string[];
  /** Branch -> deployment that its host leads to: its newest, unless an earlier one was promoted. */
  readonly branches: Readonly<Record<string, string>>;
  /** By id. */
  readonly deployments: Readonly<Record<string, DeploymentRecord>>;
}
