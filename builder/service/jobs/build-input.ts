// Reads the input of a claimed build: project, settings, variables, repository. Read once per attempt. Secrets are
// decrypted here, and only passed to the build and to the masks of its log.
import { unseal, type EncryptionKeys } from '#core/encryption.ts';
import { isMachineSize, type MachineSize } from '#core/sandbox/options.ts';
import { branchSlug } from '#core/names.ts';
import { variableContext } from '#core/variable-context.ts';
import type { Sql } from '#postgres/sql.ts';
import { buildFailure, type BuildSettings } from '../../steps/types.ts';
import type { BuildJob } from './jobs.ts';

/** Public URL of deployments. */
export interface PublicAddress {
  readonly protocol: string;
  readonly domain: string;
  /** Null means the protocol's default port. */
  readonly port: number | null;
}

/** A repository's row. */
export interface RepositoryRow {
  readonly id: string;
  readonly organizationId: string;
  readonly source: 'git-host' | 'remote' | 'builtin';
  readonly hostId: string | null;
  readonly installationId: string | null;
  /** Null means the host of `GITHOST_URL`, or no host. */
  readonly gitHostId: string | null;
  readonly fullName: string;
  readonly url: string;
  readonly credentials: Uint8Array | null;
  readonly disconnectReason: string | null;
}

/** The input of a build besides its sources. */
export interface BuildInput {
  readonly project: string;
  readonly organizationId: string;
  /** Whether this is the first admin's organization, which may build even without confinement. */
  readonly isFirst: boolean;
  /** Whether the organization has reached its storage limit (control/storage/). */
  readonly isStorageFull: boolean;
  /** Size of the organization's build machines, if these are sandboxes; null if not set. */
  readonly buildMachine: MachineSize | null;
  readonly target: 'production' | 'preview';
  readonly branch: string;
  readonly commit: string | null;
  readonly configPath: string;
  readonly settings: BuildSettings;
  readonly isFork: boolean;
  readonly variables: Readonly<Record<string, string>>;
  readonly platformVariables: Readonly<Record<string, string>>;
  /** Secrets to mask in the log. */
  readonly secrets: readonly string[];
  readonly repository: RepositoryRow | null;
  /** Number of the first log line of this attempt. */
  readonly firstSeq: number;
}

/** @returns null if the deployment was deleted. @throws {Failure} `build` when a value cannot be decrypted. */
export async function readBuildInput(
  sql: Sql,
  keys: EncryptionKeys,
  address: PublicAddress,
  job: BuildJob,
): Promise<BuildInput | null> {
  const [row] = await sql<DeploymentRow[]>`
    SELECT d.target, d.branch, d.commit_sha, d.pull_request, d.is_fork, p.name, p.config_path, p.settings,
      p.organization_id, o.is_first, to_jsonb(o) ->> 'build_machine' AS build_machine,
      (to_jsonb(o) ->> 'storage_full')::boolean AS storage_full,
      (SELECT coalesce(max(seq), 0) FROM control.build_log l WHERE l.deployment_id = d.id) + 1 AS first_seq
    FROM control.deployment d JOIN control.project p ON p.id = d.project_id
      JOIN control.organization o ON o.id = p.organization_id
    WHERE d.id = ${job.deploymentId}`;
  if (row === undefined) return null;
  const repositoryId = job.input.repositoryId ?? null;
  const [repository] = await sql<RepositoryRow[]>`
    SELECT r.id, r.organization_id AS "organizationId", r.source, r.host_id AS "hostId",
      r.installation_id AS "installationId", r.git_host_id AS "gitHostId", r.full_name AS "fullName", r.url, r.credentials,
      CASE WHEN r.disconnected_at IS NULL THEN NULL ELSE coalesce(r.disconnect_reason, 'disconnected') END
        AS "disconnectReason"
    FROM control.repository r WHERE r.id = ${repositoryId} AND r.organization_id = ${row.organization_id}`;
  const variables: Record<string, string> = {};
  const secrets: string[] = [];
  for (const variable of row.is_fork ? [] : await variablesOf(sql, job.projectId, row)) {
    const value = valueOf(keys, job.projectId, variable);
    variables[variable.key] = value;
    if (variable.kind === 'secret') secrets.push(value);
  }
  const commit = job.input.commit ?? row.commit_sha;
  return {
    project: row.name,
    organizationId: row.organization_id,
    isFirst: row.is_first,
    isStorageFull: row.storage_full === true,
    buildMachine: isMachineSize(row.build_machine) ? row.build_machine : null,
    target: row.target,
    branch: row.branch,
    commit,
    configPath: row.config_path,
    settings: toSettings(row.settings),
    isFork: row.is_fork,
    variables,
    platformVariables: {
      CI: '1',
      PLATFORM_BRANCH: row.branch,
      PLATFORM_URL: urlOf(address, row),
      ...(commit !== null && { PLATFORM_COMMIT: commit }),
      ...(row.pull_request !== null && { PLATFORM_PR: String(row.pull_request) }),
    },
    secrets,
    repository: repository ?? null,
    firstSeq: row.first_seq,
  };
}

/** @throws {Failure} `build` */
function valueOf(keys: EncryptionKeys, projectId: string, variable: VariableRow): string {
  try {
    return unseal(keys, variable.value, variableContext({ projectId, ...variable }));
  } catch (error) {
    throw buildFailure(
      'variables_unreadable',
      `The variable ${variable.key} cannot be decrypted: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

interface DeploymentRow {
  readonly target: 'production' | 'preview';
  readonly branch: string;
  readonly commit_sha: string | null;
  readonly pull_request: number | null;
  readonly is_fork: boolean;
  readonly name: string;
  readonly config_path: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly organization_id: string;
  readonly is_first: boolean;
  /** Null if the database has an older schema. */
  readonly storage_full: boolean | null;
  readonly build_machine: string | null;
  readonly first_seq: number;
}

interface VariableRow {
  readonly key: string;
  readonly scope: string;
  readonly branch: string;
  readonly kind: 'plaintext' | 'secret';
  readonly value: Uint8Array;
}

/** Variables of production, or of previews, which variables of the branch override. */
function variablesOf(
  sql: Sql,
  projectId: string,
  { target, branch }: Pick<DeploymentRow, 'target' | 'branch'>,
): Promise<VariableRow[]> {
  if (target === 'production')
    return sql`
      SELECT key, scope, branch, kind, value FROM control.variable
      WHERE project_id = ${projectId} AND scope = 'production'`;
  return sql`
    SELECT DISTINCT ON (key) key, scope, branch, kind, value FROM control.variable
    WHERE project_id = ${projectId} AND (scope = 'preview' OR (scope = 'branch' AND branch = ${branch}))
    ORDER BY key, (scope = 'branch') DESC`;
}

function toSettings(settings: Readonly<Record<string, unknown>>): BuildSettings {
  const text = (name: string): string | null => {
    const value = settings[name];
    return typeof value === 'string' && value.trim() !== '' ? value : null;
  };
  return {
    buildCommand: text('buildCommand'),
    outputDirectory: text('outputDirectory'),
    installCommand: text('installCommand'),
  };
}

/** URL of the branch: on the host of production, or on the branch's own host. */
function urlOf({ protocol, domain, port }: PublicAddress, { target, branch, name }: DeploymentRow): string {
  const label = target === 'production' ? '' : `--${branchSlug(branch, name)}`;
  return `${protocol}://${name}${label}.${domain}${port === null ? '' : `:${port}`}`;
}
