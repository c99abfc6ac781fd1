// Previews a promotion: hosts, commits, names of variables, migrations. Read-only; never returns values of variables.
// Called by the API's release routes.
import { openArtifact } from '#artifacts/artifact-source.ts';
import { isFailure } from '#core/failure.ts';
import { deploymentUrls } from '../records/deployment-urls.ts';
import { toReleaseSettings } from '../records/guarded-releases.ts';
import { logBetween } from '../repositories/commit-log.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { hasDatabases, migrate } from './engines.ts';
import { readVariables, unsealFrozen } from './frozen-variables.ts';
import { candidateObjection, riskyIn } from './candidate.ts';
import { classesObjection } from './object-classes.ts';
import { migrationsSince } from './promote.ts';
import { releaseSettingsOf } from './guarded/changes.ts';
import { readProjectRows } from './project-rows.ts';
import type { ProjectRow } from './route-projection.ts';

/** Maximum number of listed commits. */
const COMMITS_MAX = 50;
const MESSAGE_CHARS_MAX = 200;

/** What would change. */
interface PromotionPreview {
  /** `rollback` if the deployment was production before, `none` if it is production now. */
  readonly way: 'promote' | 'rollback' | 'none';
  /** Why the promotion is not possible now, or null. */
  readonly objection: string | null;
  /** The current production deployment. */
  readonly liveDeploymentId: string | null;
  /** URLs that would point to the deployment. */
  readonly urls: string[];
  /**
   * Commits between the live deployment and this one, newest first: from the project's repository on the platform, or
   * from its deployments.
   */
  readonly commits: PreviewedCommit[];
  /** `add`: production gets the commits; `remove`: it loses them. */
  readonly direction: 'add' | 'remove';
  /** Names only; null if the values are unknown or the caller may not see them. */
  readonly variables: Changes | null;
  /** Migrations that would be applied to production's databases; null if no engine responded. */
  readonly migrations: Migrations[] | null;
  /** Statements of the migrations that may break the live deployment. */
  readonly risky: string[];
  /** The steps in which production would move; null means immediately. */
  readonly release: ReturnType<typeof toReleaseSettings> | null;
  /** For a rollback: migrations applied since, which are not reverted. */
  readonly migrationsSince: (Migrations & { deploymentId: string })[];
}

interface Migrations {
  resource: string;
  files: string[];
}

interface PreviewedCommit {
  /** Newest deployment of the branch, or null. */
  readonly deploymentId: string | null;
  readonly sha: string;
  readonly message: string | null;
  readonly author: string | null;
}

interface Changes {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
}

interface Row {
  readonly id: string;
  readonly branch: string;
  readonly commit_sha: string | null;
  readonly artifact: string | null;
  readonly variables: Uint8Array | null;
  readonly created_at: Date;
  readonly project_id: string;
}

type Commits = Pick<PromotionPreview, 'commits' | 'direction'>;

/** @param withVariables whether the caller may see names of variables. */
export async function previewPromotion(
  deps: Dependencies,
  deploymentId: string,
  withVariables: boolean,
): Promise<PromotionPreview> {
  const { sql, addresses } = deps;
  const row = await readRow(deps, deploymentId);
  const [rows] = await readProjectRows(sql, [row!.project_id]);
  const { project, domains } = rows!;
  const live = project.production_deployment_id === null ? null : await readRow(deps, project.production_deployment_id);
  const isOlder = live !== null && row!.created_at < live.created_at;
  const at = project.production_history.lastIndexOf(deploymentId);
  const way = live?.id === deploymentId ? 'none' : at >= 0 ? 'rollback' : 'promote';
  const objection =
    (await candidateObjection(deps, project.id, deploymentId)) ??
    (way === 'promote' ? await objectsObjection(deps, project.id, row!.artifact!) : null);
  /** For a rollback: the deployments after the target in the history. */
  const left = project.production_history.slice(at + 1).concat(live?.id ?? []);
  const { migrations, risky } =
    way === 'promote' && objection === null
      ? await pending(deps, project.name, row!.artifact!)
      : { migrations: [], risky: [] };
  const [own] = deploymentUrls(addresses, project.name, { ...row!, isProduction: true });
  const direction = way === 'rollback' || isOlder ? 'remove' : 'add';
  const deployed = async (): Promise<Commits> => ({
    direction,
    commits:
      way === 'none'
        ? []
        : way === 'rollback'
          ? await commitsSince(deps, project.production_history.slice(0, at + 1), left)
          : await commitsBetween(deps, row!, live),
  });
  return {
    way,
    objection,
    liveDeploymentId: live?.id ?? null,
    urls: [own!, ...domains.map((hostname) => `${addresses.protocol}://${hostname}`)],
    ...((await commitsOfRepository(deps, row!, live, direction)) ?? (await deployed())),
    variables: withVariables && way !== 'none' ? await variableChanges(deps, row!, live) : null,
    migrations,
    risky,
    release: way === 'promote' && objection === null && live !== null ? stepsOf(deps, project, row!.artifact!) : null,
    migrationsSince:
      way === 'rollback'
        ? (await migrationsSince(deps, project, left)).map((one) => ({ ...one, files: [...one.files] }))
        : [],
  };
}

/**
 * Why production's objects prevent the promotion; null if they do not prevent it, or if no engine is available to
 * check.
 */
async function objectsObjection(deps: Dependencies, projectId: string, artifact: string): Promise<string | null> {
  try {
    return await classesObjection(deps, projectId, openArtifact(deps.folder, artifact).manifest);
  } catch (error) {
    if (isFailure(error, 'engines_away')) return null;
    throw error;
  }
}

/** The settings of the guarded release of an artifact, if any. */
function stepsOf({ folder }: Dependencies, { settings }: ProjectRow, artifact: string) {
  const release = releaseSettingsOf(openArtifact(folder, artifact).manifest, settings);
  return release === null ? null : toReleaseSettings(release);
}

async function readRow({ sql }: Dependencies, id: string): Promise<Row | null> {
  const [row] = await sql<Row[]>`
    SELECT id, branch, commit_sha, artifact, variables, created_at, project_id FROM control.deployment
    WHERE id = ${id}`;
  return row ?? null;
}

/** @param direction the direction to try first. @returns null if no repository of the platform has both commits. */
async function commitsOfRepository(
  deps: Dependencies,
  row: Row,
  live: Row | null,
  direction: Commits['direction'],
): Promise<Commits | null> {
  const [from, to] = [live?.commit_sha ?? null, row.commit_sha];
  if (from === null || to === null) return null;
  const [repository] = await deps.sql<{ id: string }[]>`
    SELECT r.id FROM control.project p JOIN control.repository r ON r.id = p.repository_id
    WHERE p.id = ${row.project_id} AND r.source = 'builtin'`;
  if (repository === undefined) return null;
  const added = await logBetween(deps, repository.id, { from, to, max: COMMITS_MAX });
  const lost = await logBetween(deps, repository.id, { from: to, to: from, max: COMMITS_MAX });
  if (added === null || lost === null) return null;
  // An older commit may have been deployed again later.
  const isAdded = direction === 'add' ? added.length > 0 || lost.length === 0 : lost.length === 0 && added.length > 0;
  const logged = isAdded ? added : lost;
  const deployments = await deps.sql<{ id: string; commit_sha: string }[]>`
    SELECT DISTINCT ON (commit_sha) id, commit_sha FROM control.deployment
    WHERE project_id = ${row.project_id} AND commit_sha = ANY(${logged.map(({ sha }) => sha)}) AND NOT is_fork
    ORDER BY commit_sha, created_at DESC`;
  const ids = new Map(deployments.map(({ id, commit_sha: sha }) => [sha, id]));
  return {
    direction: isAdded ? 'add' : 'remove',
    commits: logged.map(({ sha, author, message }) => ({
      deploymentId: ids.get(sha) ?? null,
      sha,
      message: message.slice(0, MESSAGE_CHARS_MAX),
      author,
    })),
  };
}

/** Commits of the deployments that a rollback undoes, without commits that remaining deployments contain. */
async function commitsSince(
  { sql }: Dependencies,
  kept: readonly string[],
  left: readonly string[],
): Promise<PreviewedCommit[]> {
  const commits = await sql<CommitRow[]>`
    SELECT * FROM (
      SELECT DISTINCT ON (commit_sha) id, commit_sha, commit_message, author, created_at FROM control.deployment
      WHERE id = ANY(${[...left]}) AND commit_sha IS NOT NULL AND commit_sha NOT IN
        (SELECT commit_sha FROM control.deployment WHERE id = ANY(${[...kept]}) AND commit_sha IS NOT NULL)
      ORDER BY commit_sha, created_at DESC) AS found
    ORDER BY created_at DESC LIMIT ${COMMITS_MAX}`;
  return commits.map(toCommit);
}

/** Commits deployed between the two on the candidate's or the live deployment's branch. */
async function commitsBetween({ sql }: Dependencies, row: Row, live: Row | null): Promise<PreviewedCommit[]> {
  if (live === null) return [];
  const [older, newer] = row.created_at < live.created_at ? [row, live] : [live, row];
  const commits = await sql<CommitRow[]>`
    SELECT * FROM (
      SELECT DISTINCT ON (commit_sha) id, commit_sha, commit_message, author, created_at FROM control.deployment
      WHERE project_id = ${row.project_id} AND branch = ${newer.branch} AND commit_sha IS NOT NULL AND NOT is_fork
        AND created_at > (SELECT created_at FROM control.deployment WHERE id = ${older.id})
        AND created_at <= (SELECT created_at FROM control.deployment WHERE id = ${newer.id})
        AND commit_sha IS DISTINCT FROM (SELECT commit_sha FROM control.deployment WHERE id = ${older.id})
      ORDER BY commit_sha, created_at DESC) AS found
    ORDER BY created_at DESC LIMIT ${COMMITS_MAX}`;
  return commits.map(toCommit);
}

interface CommitRow {
  readonly id: string;
  readonly commit_sha: string;
  readonly commit_message: string | null;
  readonly author: string | null;
}

function toCommit({ id, commit_sha: sha, commit_message: message, author }: CommitRow): PreviewedCommit {
  return { deploymentId: id, sha, message: message?.split('\n')[0]?.slice(0, MESSAGE_CHARS_MAX) ?? null, author };
}

/** Differences between the candidate's and the live deployment's environment. */
async function variableChanges(deps: Dependencies, row: Row, live: Row | null): Promise<Changes | null> {
  const { sql, keys } = deps;
  const current = live === null ? {} : unsealFrozen(keys, live.id, live.variables).production;
  if (current === null) return null;
  const next =
    unsealFrozen(keys, row.id, row.variables).production ??
    (await sql.begin((tx) => readVariables(tx, keys, row.project_id))).production;
  const names = [...new Set([...Object.keys(current), ...Object.keys(next)])].sort();
  return {
    added: names.filter((name) => !Object.hasOwn(current, name)),
    changed: names.filter(
      (name) => Object.hasOwn(current, name) && Object.hasOwn(next, name) && current[name] !== next[name],
    ),
    removed: names.filter((name) => !Object.hasOwn(next, name)),
  };
}

async function pending(
  deps: Dependencies,
  project: string,
  artifact: string,
): Promise<Pick<PromotionPreview, 'migrations' | 'risky'>> {
  if (!hasDatabases(deps, artifact)) return { migrations: [], risky: [] };
  try {
    const plan = await migrate(deps, project, artifact, null, true);
    const migrations = plan.flatMap(({ resource, pending: files }) =>
      files.length > 0 ? [{ resource, files: [...files] }] : [],
    );
    return { migrations, risky: riskyIn(deps, artifact, migrations) };
  } catch (error) {
    if (isFailure(error, 'engines_away', 'engine_refused')) return { migrations: null, risky: [] };
    throw error;
  }
}
