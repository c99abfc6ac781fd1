// Types of API records used by commands. Times are ISO 8601.

export interface Organization {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly plan: string;
  readonly role?: string;
}

export interface Project {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly description: string;
  readonly kind: string | null;
  readonly defaultBranch: string;
  readonly productionDeploymentId: string | null;
  readonly repositoryId: string | null;
  readonly deploymentUrl?: string | null;
  readonly createdAt: string;
}

/** Statuses of a deployment; the last four are final. */
export type DeploymentStatus =
  | 'queued'
  | 'building'
  | 'uploading'
  | 'migrating'
  | 'success'
  | 'failure'
  | 'timeout'
  | 'canceled';

/** A guarded release: it sends more and more visitors to the new deployment while the metrics are good. */
interface GuardedRelease {
  readonly state: 'running' | 'promoted' | 'rolled_back' | 'canceled';
  /** Current share of the visitors. */
  readonly percent: number;
  readonly settings: { readonly steps: readonly number[]; readonly minutes: number };
  /** The steps of the release that have begun. */
  readonly steps: readonly { readonly percent: number; readonly verdict: string | null }[];
  readonly reason: string | null;
}

export interface Deployment {
  readonly id: string;
  readonly projectId: string;
  readonly status: DeploymentStatus;
  readonly reason: string | null;
  readonly errorMessage: string | null;
  readonly target: 'production' | 'preview';
  readonly branch: string;
  readonly commitSha: string | null;
  readonly commitMessage: string | null;
  readonly author: string | null;
  readonly pullRequest: number | null;
  readonly url: string | null;
  readonly aliasUrls: readonly string[];
  readonly createdAt: string;
  readonly readyAt: string | null;
  /** The guarded release of the deployment, if any. An older platform does not send this field. */
  readonly guardedRelease?: GuardedRelease | null;
}

/** A variable; `value` is null for secrets. */
export interface Variable {
  readonly id: string;
  readonly key: string;
  readonly value: string | null;
  readonly kind: 'plaintext' | 'secret';
  readonly scope: 'production' | 'preview' | 'branch' | 'dev';
  readonly branch: string | null;
}

export interface BuildLine {
  readonly seq: number;
  readonly at: string;
  readonly step: string;
  readonly level: string;
  readonly text: string;
}

export interface Token {
  readonly id: string;
  readonly name: string;
  /** First characters. */
  readonly hint: string;
  readonly scope: string;
  readonly organizationId: string | null;
  readonly projectId: string | null;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly createdAt: string;
}

export interface Domain {
  readonly id: string;
  readonly hostname: string;
  readonly branch: string | null;
  readonly redirectTo: string | null;
  readonly status: string;
  readonly verification?: { readonly type?: string; readonly name?: string; readonly value?: string };
  readonly unicode?: string;
  /** DNS records to create. */
  readonly records?: readonly { readonly type: string; readonly name: string; readonly value: string }[];
  readonly problem?: string | null;
  readonly verifiedAt?: string | null;
  readonly removedAfter?: string | null;
  readonly certificate?: {
    readonly issuer: string | null;
    readonly expiresAt: string | null;
    readonly renewsAt: string | null;
    readonly problem: string | null;
  } | null;
}

/** A log drain; its headers and keys are not shown. */
export interface Drain {
  readonly id: string;
  readonly name: string;
  readonly target: { readonly kind: string; readonly url?: string; readonly bucket?: string; readonly prefix?: string };
  readonly level: string;
  readonly state: string;
  readonly error: string | null;
  readonly deliveredAt: string | null;
}
