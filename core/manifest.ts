// What the builder hands the handler: an artifact's manifest.json, and the route records that point at artifacts.
// Written by builder/ and cli/, read by runtime/. Data only; no I/O.
import type { Plan } from './plans.ts';

/** A file of `assets/` in an artifact. */
export interface AssetFile {
  /** SHA-256 of the plain content, hex. */ readonly hash: string;
  readonly bytes: number;
  /** Content type with charset, ready to send. */ readonly type: string;
}

/** How static files are served (spec 2.1, `assets`). */
export interface AssetRules {
  /** Name under which the worker sees the asset fetcher. */ readonly binding: string | null;
  readonly notFoundHandling: 'none' | '404-page' | 'single-page-application';
  /** `true`: always the worker first; patterns: only those (a leading `!` excludes). */ readonly runWorkerFirst:
    | boolean
    | readonly string[];
  /** URL path without the leading slash -> file; the content lies in `assets/<path>`. */ readonly files: Readonly<
    Record<string, AssetFile>
  >;
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
  /** Declared bindings by kind: binding name -> resource name. */
  readonly bindings: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly cron: Readonly<Record<string, { readonly schedule: string; readonly timezone: string }>>;
  readonly ai: boolean;
  readonly skewProtection: boolean;
}

/** One deployment of a project, in its route record. */
export interface DeploymentRecord {
  readonly id: string;
  /** Artifact id: folder `artifacts/<id>` under `FS_PATH`. */ readonly artifact: string;
  readonly branch: string;
  /** ISO 8601. */ readonly createdAt: string;
}

/** `routes/<project>.json` under `FS_PATH`: everything the handler needs to route to a project. */
export interface RouteRecord {
  readonly version: 1;
  readonly project: string;
  readonly plan: Plan;
  /** Variables of the project: `env.vars.KEY`. */ readonly vars: Readonly<Record<string, string>>;
  /** Custom hosts, lower case, without port. */ readonly domains: readonly string[];
  /** Deployment that `<project>.<domain>` and the custom hosts serve. */ readonly production: string | null;
  /** Branch -> newest deployment of it. */ readonly branches: Readonly<Record<string, string>>;
  /** By id. */ readonly deployments: Readonly<Record<string, DeploymentRecord>>;
}
