// What making a deployment production would change, before anybody does it: hosts, commits, names of variables,
// migrations. It reads, and changes nothing. Values of variables never leave it. Called by the API's releases.
import { deploymentUrls } from '../records/deployment-urls.ts';
import { logBetween } from '../repositories/commit-log.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { EngineRefusal, EnginesAway, hasDatabases, migrate } from './engines.ts';
import { readVariables, unsealFrozen } from './frozen-variables.ts';
import { candidateObjection, migrationsSince, riskyIn } from './promote.ts';
import { readProjectRows } from './project-rows.ts';

/** Commits that are listed. */
const COMMITS_MAX = 50;
const MESSAGE_CHARS_MAX = 200;

/** What would change. */
export interface PromotionPreview {
  /** `rollback` where it was production before, `none` where it is. */
  readonly way: 'promote' | 'rollback' | 'none';
  /** Why it cannot be done now; null: it can. */
  readonly objection: string | null;
  /** What is production now. */
  readonly liveDeploymentId: string | null;
  /** Addresses that would lead to it. */
  readonly urls: string[];
  /**
   * Between the live deployment and this one, the newest first: as the project's repository on the platform knows
   * them, else those of deployments.
   */
  readonly commits: PreviewedCommit[];
  /** `add`: production gets the commits; `remove`: it loses them. */
  readonly direction: 'add' | 'remove';
  /** Names alone; null where the values are not known, or are not for the eyes of who asks. */
  readonly variables: Changes | null;
  /** That would be applied to production's databases; null where no engine could say it. */
  readonly migrations: Migrations[] | null;
  /** Statements of these that what serves now may not survive. */
  readonly risky: string[];
  /** Of a rollback: those that ran since, which stay. */
  readonly migrationsSince: (Migrations & { deploymentId: string })[];
}

interface Migrations {
  resource: string;
  files: string[];
}

interface PreviewedCommit {
  /** The newest of it; null: it was not deployed. */
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

/** @param withVariables whether who asks may see their names. */
export async function previewPromotion(
  parts: Dependencies,
  deploymentId: string,
  withVariables: boolean,
): Promise<PromotionPreview> {
  const { sql, addresses } = parts;
  const row = await readRow(parts, deploymentId);
  const [rows] = await readProjectRows(sql, [row!.project_id]);
  const { project, domains } = rows!;
  const live =
    project.production_deployment_id === null ? null : await readRow(parts, project.production_deployment_id);
  const objection = await candidateObjection(parts, project.id, deploymentId);
  const isOlder = live !== null && row!.created_at < live.created_at;
  const at = project.production_history.lastIndexOf(deploymentId);
  const way = live?.id === deploymentId ? 'none' : at >= 0 ? 'rollback' : 'promote';
  /** What was production behind it, where it is gone back to. */
  const left = project.production_history.slice(at + 1).concat(live?.id ?? []);
  const { migrations, risky } =
    way === 'promote' && objection === null
      ? await pending(parts, project.name, row!.artifact!)
      : { migrations: [], risky: [] };
  const [own] = deploymentUrls(addresses, project.name, { ...row!, isProduction: true });
  const direction = way === 'rollback' || isOlder ? 'remove' : 'add';
  const deployed = async (): Promise<Commits> => ({
    direction,
    commits:
      way === 'none'
        ? []
        : way === 'rollback'
          ? await commitsSince(parts, project.production_history.slice(0, at + 1), left)
          : await commitsBetween(parts, row!, live),
  });
  return {
    way,
    objection,
    liveDeploymentId: live?.id ?? null,
    urls: [own!, ...domains.map((hostname) => `${addresses.protocol}://${hostname}`)],
    ...((await commitsOfRepository(parts, row!, live, direction)) ?? (await deployed())),
    variables: withVariables && way !== 'none' ? await variableChanges(parts, row!, live) : null,
    migrations,
    risky,
    migrationsSince:
      way === 'rollback'
        ? (await migrationsSince(parts, project, left)).map((one) => ({ ...one, files: [...one.files] }))
        : [],
  };
}

async function readRow({ sql }: Dependencies, id: string): Promise<Row | null> {
  const [row] = await sql<Row[]>`
    SELECT id, branch, commit_sha, artifact, variables, created_at, project_id FROM control.deployment
    WHERE id = ${id}`;
  return row ?? null;
}

/** @param direction looked at first; @returns null where no repository of the platform knows both commits. */
async function commitsOfRepository(
  parts: Dependencies,
  row: Row,
  live: Row | null,
  direction: Commits['direction'],
): Promise<Commits | null> {
  const [from, to] = [live?.commit_sha ?? null, row.commit_sha];
  if (from === null || to === null) return null;
  const [repository] = await parts.sql<{ id: string }[]>`
    SELECT r.id FROM control.project p JOIN control.repository r ON r.id = p.repository_id
    WHERE p.id = ${row.project_id} AND r.source = 'builtin'`;
  if (repository === undefined) return null;
  const added = await logBetween(parts, repository.id, { from, to, max: COMMITS_MAX });
  const lost = await logBetween(parts, repository.id, { from: to, to: from, max: COMMITS_MAX });
  if (added === null || lost === null) return null;
  // A commit may be deployed again after one that came later.
  const isAdded = direction === 'add' ? added.length > 0 || lost.length === 0 : lost.length === 0 && added.length > 0;
  const logged = isAdded ? added : lost;
  const deployments = await parts.sql<{ id: string; commit_sha: string }[]>`
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

/** Commits that came with deployments that are left, and with none of those that stay. */
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

/** Commits that were deployed of the candidate's branch, or of the live one's, between the two. */
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

/** What its worker would see in place of what the live one sees. */
async function variableChanges(parts: Dependencies, row: Row, live: Row | null): Promise<Changes | null> {
  const { sql, keys } = parts;
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
  parts: Dependencies,
  project: string,
  artifact: string,
): Promise<Pick<PromotionPreview, 'migrations' | 'risky'>> {
  if (!hasDatabases(parts, artifact)) return { migrations: [], risky: [] };
  try {
    const plan = await migrate(parts, project, artifact, null, true);
    const migrations = plan.flatMap(({ resource, pending: files }) =>
      files.length > 0 ? [{ resource, files: [...files] }] : [],
    );
    return { migrations, risky: riskyIn(parts, artifact, migrations) };
  } catch (error) {
    if (error instanceof EnginesAway || error instanceof EngineRefusal) return { migrations: null, risky: [] };
    throw error;
  }
}
