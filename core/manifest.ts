// Types shared by builder and handler: an artifact's manifest.json, and the route records that refer to artifacts.
// Written by builder/ and cli/, read by runtime/. Data only; no I/O.
import type { ObjectClasses } from './bindings/object-classes.ts';
import type { Plan } from './plans.ts';
import type { PreviewSettings } from './preview-settings.ts';
import type { QueuesSettings } from './queue-settings.ts';
import type { ReleaseSettings } from './release-settings.ts';

/** A file of `assets/` in an artifact. */
export interface AssetFile {
  /** SHA-256 of the unencoded content, hex. */
  readonly hash: string;
  readonly bytes: number;
  /** Content type with charset, ready to send. */
  readonly type: string;
  /**
   * Compressed versions from the build, if they are smaller. Each is stored as `encoded/<hash>`, outside the URL space.
   */
  readonly encoded?: Readonly<Partial<Record<AssetEncoding, { readonly hash: string; readonly bytes: number }>>>;
}

/** Content codings in which the build compresses files, by their HTTP names, best first. */
export const assetEncodings = ['br', 'gzip'] as const;
export type AssetEncoding = (typeof assetEncodings)[number];

/** A rule of `_headers`: its changes to responses with a file. Names in lower case. */
export interface AssetHeaderRule {
  /** Path pattern, or `https://host/path` pattern (core/path-pattern.ts). */
  readonly pattern: string;
  /** Values may contain `:placeholders`. */
  readonly set: readonly (readonly [name: string, value: string])[];
  readonly remove: readonly string[];
}

/** A rule of `_redirects`. */
export interface AssetRedirectRule {
  /** Path pattern. */
  readonly from: string;
  /** A path or a URL; may contain `:placeholders`. */
  readonly to: string;
  /** Status of the response; 200 serves the file of another path. */
  readonly status: 200 | 301 | 302 | 303 | 307 | 308;
  /** Whether a rule with status 200 also replaces an existing file. */
  readonly force: boolean;
}

/** How static files are served (docs/static-files.md). */
export interface AssetRules {
  /** Name of the asset fetcher in `env`. */
  readonly binding: string | null;
  readonly notFoundHandling: 'none' | '404-page' | 'single-page-application';
  /** `true`: always the worker first; patterns: only matching requests (a leading `!` excludes). */
  readonly runWorkerFirst: boolean | readonly string[];
  /** Maps a status to the key in `files` of the page that browsers get for an error of the platform. */
  readonly errorPages?: Readonly<Record<number, string>>;
  /** The files by URL path without the leading slash. Their content is in `assets/<path>`. */
  readonly files: Readonly<Record<string, AssetFile>>;
  /** Rules of `_headers`, in order. */
  readonly headers?: readonly AssetHeaderRule[];
  /** Rules of `_redirects`, in order; the first match is applied. */
  readonly redirects?: readonly AssetRedirectRule[];
}

/** The migrations of one database: `migrations.json` of an artifact is a list of these. */
export interface DatabaseMigrations {
  readonly resource: string;
  /** Names and SQL, sorted by name. */
  readonly files: readonly (readonly [name: string, sql: string])[];
}

/** The server of an ssr project: a separate Node process, in an unpacked `server.tar` (runtime/ssr/). */
export interface ServerRules {
  /** Hash of `server.tar`, which is next to the manifest. */
  readonly hash: string;
  readonly bytes: number;
  /** Shell command, as in `scripts.start` of package.json. */
  readonly start: string;
  /** Working directory in the archive; empty means the archive's root. */
  readonly folder: string;
}

/** `manifest.json` of an artifact. The artifact id is the SHA-256 of the manifest's canonical JSON. */
export interface Manifest {
  readonly version: 1;
  readonly kind: 'static' | 'ssr' | 'dynamic';
  /** The bundle, `worker.js` next to the manifest (source map: `worker.js.map`); null for static projects. */
  readonly worker: { readonly hash: string; readonly bytes: number; readonly mapHash: string | null } | null;
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly assets: AssetRules | null;
  /** Declared bindings by kind: binding name -> resource name. `auth` has a binding, but no separate resource. */
  readonly bindings: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Durable objects: binding name -> class that the worker exports, or `project#Class`; absent without any. */
  readonly objects?: Readonly<Record<string, string>>;
  /** Renamed and deleted classes of its objects; absent if there are none. */
  readonly objectClasses?: ObjectClasses;
  /** Queues with settings, by resource name; absent without any. */
  readonly queues?: QueuesSettings;
  /** Workflows that are classes: resource name -> exported class; absent without any. */
  readonly workflowClasses?: Readonly<Record<string, string>>;
  /** Schedules by name. A schedule without `overlap` skips runs that become due during a run. */
  readonly cron: Readonly<
    Record<string, { readonly schedule: string; readonly timezone: string; readonly overlap?: 'queue' }>
  >;
  /** Preview settings that differ from the defaults. */
  readonly previews?: Partial<PreviewSettings>;
  /** How the deployment becomes production; if absent, the project's settings decide. */
  readonly release?: ReleaseSettings;
  /** `migrations.json` next to the manifest; absent if there are none. */
  readonly migrations?: { readonly hash: string };
  readonly ai: boolean;
  readonly skewProtection: boolean;
  /** The Node process of an `ssr` project next to the worker, which serves the process's binding calls. */
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
  /** Target of the deployment; absent in older records. */
  readonly target?: 'production' | 'preview';
  /** The variables with which the deployment was released, used instead of those of the record. */
  readonly vars?: Readonly<Record<string, string>>;
  /**
   * ISO 8601 time at which production, or the URL of its branch, last moved from this deployment to another one. Absent
   * if that move was a rollback.
   */
  readonly supersededAt?: string;
}

/** Share of production's visitors that another deployment serves until that deployment is promoted or withdrawn. */
interface RouteSplit {
  readonly deployment: string;
  /** Integer from 0 to 100. */
  readonly percent: number;
}

/** Protection of previews (core/preview-access.ts creates both values). */
export interface RouteProtection {
  readonly passwordHash: string;
  /** SHA-256 in hex of the bypass token for programs, if there is one. */
  readonly bypassHash?: string;
}

/** Owner of a project, by ids of the control plane. */
export interface RouteOwner {
  readonly organization: string;
  readonly project: string;
}

/** `routes/<project>.json` under `FS_PATH`: all routing data of a project. */
export interface RouteRecord {
  readonly version: 1;
  readonly project: string;
  readonly plan: Plan;
  /** Absent in records written without a control plane. */
  readonly owner?: RouteOwner;
  /** Variables of production: `env.vars.KEY`. Previews never see these variables. */
  readonly vars: Readonly<Record<string, string>>;
  /** Variables of all previews. */
  readonly previewVars?: Readonly<Record<string, string>>;
  /** Additional variables of a branch's previews, by branch. They override the variables of all previews. */
  readonly branchVars?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Custom hosts, lower case, without port. */
  readonly domains: readonly string[];
  /** Maps a custom host to the branch whose deployment it serves, as a preview, like the branch's own host. */
  readonly branchDomains?: Readonly<Record<string, string>>;
  /** Maps a custom host to the host to which its visitors are redirected, with the same path and query. */
  readonly redirects?: Readonly<Record<string, string>>;
  /** Deployment that `<project>.<domain>` and the custom hosts serve. */
  readonly production: string | null;
  /** Share of production's visitors that another deployment serves, with production's resources. */
  readonly split?: RouteSplit | null;
  /** Protection of previews; previews without it are public. */
  readonly protection?: RouteProtection | null;
  /** Former production deployments; the latest comes last. */
  readonly productionHistory?: readonly string[];
  /** Maps a branch to the deployment of its host: its newest deployment, unless an earlier one was promoted. */
  readonly branches: Readonly<Record<string, string>>;
  /** By id. */
  readonly deployments: Readonly<Record<string, DeploymentRecord>>;
}
