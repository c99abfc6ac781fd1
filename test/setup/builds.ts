// Builds for tests: a database with an organization and a project, a bare repository with real commits, and a builder
// in the test's process.
import { openArtifactsDisk } from '#artifacts/store/artifact-store-disk.ts';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startBuilder, type Builder, type BuilderOptions } from '#builder/service/builder.ts';
import type { RunBuild } from '#builder/steps/types.ts';
import { encryptionKeys, seal } from '#core/encryption.ts';
import { defaultLimits, type BuildLimits } from '#core/limits.ts';
import { variableContext } from '#core/variable-context.ts';
import { openLog } from '#core/log/log.ts';
import { createDeployment } from '#control/releases/create-deployment.ts';
import { newId } from '#control/records/ids.ts';
import { openSql, type Sql } from '#postgres/sql.ts';
import { createTestDatabase } from './postgres.ts';
import { testOutbound } from './outbound.ts';
import { until } from './until.ts';

/** A line of a build log. */
interface LogLine {
  readonly seq: number;
  readonly step: string;
  readonly level: string;
  readonly text: string;
}

/** A deployment's row. */
interface DeploymentRow {
  readonly status: string;
  readonly reason: string | null;
  readonly error_message: string | null;
  readonly artifact: string | null;
  readonly commit_sha: string | null;
  readonly build_ms: number | null;
}

/** A project with a repository. */
export interface TestProject {
  readonly id: string;
  readonly name: string;
  readonly repositoryId: string;
  /**
   * Commits files on a branch, beside those of the pushes before, and makes the deployment of it. @param rewrites the
   * branch begins anew, as after a push by force. @returns its id, and the commit.
   */
  push(
    files: Readonly<Record<string, string>>,
    branch?: string,
    rewrites?: boolean,
  ): Promise<{ id: string; commit: string }>;
  /** A deployment of a commit that is pushed already. */
  deploy(branch: string, commit: string | null, more?: { isFork?: boolean; pullRequest?: number }): Promise<string>;
  variable(scope: string, key: string, value: string, more?: { kind?: string; branch?: string }): Promise<void>;
}

/** Everything a test of builds needs. */
export interface TestBuilds {
  readonly sql: Sql;
  readonly url: string;
  readonly folder: string;
  readonly keyText: string;
  readonly options: BuilderOptions;
  project(name: string, more?: { isFirst?: boolean }): Promise<TestProject>;
  /** A builder in this process, closed with the test. */
  start(options?: Partial<BuilderOptions> & { build?: Partial<BuildLimits> }): Promise<Builder>;
  deployment(id: string): Promise<DeploymentRow>;
  /** Resolves when the build is over, with the deployment. */
  ended(id: string): Promise<DeploymentRow>;
  log(id: string): Promise<LogLine[]>;
  /** Resolves when a line of the log has this text in it. */
  logged(id: string, text: string): Promise<LogLine>;
  close(): Promise<void>;
}

const keyText = '0123456789abcdef0123456789abcdef';

/** Limits that let tests wait little. */
const quick: Partial<BuildLimits> = { pollMs: 100, leaseMs: 3000 };

/**
 * @param runBuild what stands in for the steps; the real ones by default.
 * @param url of another database than a test's own.
 */
export async function openBuilds(runBuild: RunBuild, url?: string): Promise<TestBuilds> {
  const database = url === undefined ? await createTestDatabase() : null;
  const at = url ?? database!.url;
  const sql = openSql({ url: at, name: 'test builds', connectionsMax: 6 });
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-builds-'));
  const keys = encryptionKeys(keyText);
  /** What each repository begins as. */
  const empty = path.join(folder, 'repositories', 'empty.git');
  const builders = new Set<Builder>();
  const options: BuilderOptions = {
    sql,
    log: openLog('builder', {}, { write: (line) => void (process.env['TEST_LOG'] && process.stderr.write(line)) }),
    keys,
    folder,
    artifacts: openArtifactsDisk(folder),
    workFolder: null,
    concurrency: 2,
    address: { protocol: 'http', domain: 'localhost', port: 4001 },
    limits: { ...defaultLimits, build: { ...defaultLimits.build, ...quick } },
    confinement: { kind: 'user', reason: null },
    outbound: testOutbound(),
    noServers: null,
    runBuild,
    findRemote: () => Promise.reject(new Error('No remote repositories in this test')),
    sandboxes: null,
  };
  const deployment = async (id: string): Promise<DeploymentRow> => {
    const [row] = await sql<DeploymentRow[]>`
      SELECT status, reason, error_message, artifact, commit_sha, build_ms FROM control.deployment WHERE id = ${id}`;
    return row!;
  };
  const log = async (id: string): Promise<LogLine[]> =>
    Array.from(
      await sql<
        LogLine[]
      >`SELECT seq, step, level, text FROM control.build_log WHERE deployment_id = ${id} ORDER BY seq`,
    );

  async function project(name: string, { isFirst = true } = {}): Promise<TestProject> {
    const organizationId = newId('organization');
    const repositoryId = newId('repository');
    const id = newId('project');
    const bare = path.join(folder, 'repositories', `${repositoryId}.git`);
    if (!existsSync(empty)) execFileSync('git', ['init', '--quiet', '--bare', '--template=', '-b', 'main', empty]);
    cpSync(empty, bare, { recursive: true });
    const tree = new Map<string, string>();
    let last: string | null = null;
    await sql`INSERT INTO control.organization (id, slug, name, is_first) VALUES (${organizationId}, ${name}, ${name}, ${isFirst})`;
    await sql`INSERT INTO control.repository (id, organization_id, source, full_name, url)
      VALUES (${repositoryId}, ${organizationId}, 'builtin', ${name}, ${bare})`;
    await sql`INSERT INTO control.project (id, organization_id, name, repository_id)
      VALUES (${id}, ${organizationId}, ${name}, ${repositoryId})`;
    const deploy: TestProject['deploy'] = async (branch, commit, { isFork = false, pullRequest } = {}) => {
      const made = await createDeployment(
        { sql },
        {
          projectId: id,
          branch,
          commit,
          isFork,
          pullRequest: pullRequest ?? null,
          source: 'push',
          createdBy: null,
        },
      );
      return made.id;
    };
    return {
      id,
      name,
      repositoryId,
      deploy,
      async push(files, branch = 'main', rewrites = false) {
        for (const [file, text] of Object.entries(files)) tree.set(file, text);
        last = commitTree(bare, branch, tree, rewrites ? null : last);
        return { id: await deploy(branch, last), commit: last };
      },
      async variable(scope, key, value, { kind = 'secret', branch = '' } = {}) {
        await sql`INSERT INTO control.variable (id, project_id, key, scope, branch, kind, value)
          VALUES (${newId('variable')}, ${id}, ${key}, ${scope}, ${branch}, ${kind},
            ${seal(keys, value, variableContext({ projectId: id, scope, branch, key }))})`;
      },
    };
  }

  return {
    sql,
    url: at,
    folder,
    keyText,
    options,
    project,
    deployment,
    log,
    async start({ build, ...more } = {}) {
      const { limits } = { ...options, ...more };
      const builder = await startBuilder({
        ...options,
        ...more,
        limits: { ...limits, build: { ...limits.build, ...build } },
      });
      builders.add(builder);
      return builder;
    },
    ended: (id) =>
      until(async () => {
        const row = await deployment(id);
        return row.artifact !== null || !['queued', 'building', 'uploading'].includes(row.status) ? row : null;
      }),
    logged: (id, text) => until(async () => (await log(id)).find((line) => line.text.includes(text)) ?? null),
    async close() {
      for (const builder of builders) await builder.close();
      await sql.end({ timeout: 1 });
      await database?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Commits a tree on a branch of a bare repository: one process, where a push takes ten. @returns the commit's hash. */
function commitTree(bare: string, branch: string, tree: ReadonlyMap<string, string>, parent: string | null): string {
  const of = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}`;
  const commit = [
    `commit refs/heads/${branch}`,
    `committer Ada <ada@example.com> ${Math.floor(Date.now() / 1000)} +0000`,
    of('Change'),
    ...(parent === null ? [] : [`from ${parent}`]),
    'deleteall',
    ...Array.from(tree, ([file, text]) => `M 100644 inline ${file}\n${of(text)}`),
  ];
  const words = ['-C', bare, '-c', 'fastimport.unpackLimit=0', 'fast-import', '--quiet', '--force'];
  execFileSync('git', words, { input: `${commit.join('\n')}\n`, stdio: ['pipe', 'ignore', 'inherit'] });
  return readFileSync(path.join(bare, 'refs/heads', branch), 'utf8').trim();
}
